# SPDX-License-Identifier: GPL-3.0-or-later
"""What has changed since the last acceptance of a cluster: nodes, properties, checks, bandwidths, thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict

from ..._request.byte_size import size_text
from ..._text.table import names as names_text
from ..._text.table import node_names
from ..benchmark.outcome import is_alike
from ..benchmark.text import bandwidth, curve_of
from .acceptance import Acceptance, Change
from .outcome import MOST_NAMES, SETUP, StageOutcome
from .profile import PAIRS, PREFLIGHT, STAGES
from .text import threshold_text


def changes_between(before: Acceptance, now: Acceptance) -> list[Change]:
    """Return what differs, stage by stage; the bandwidths of a stage that ran both times are always among it."""
    return [change for name in STAGES for change in _of_stage(name, before.stage(name), now.stage(name))]


def _of_stage(name: str, before: StageOutcome | None, now: StageOutcome | None) -> Iterator[Change]:
    yield from _different(
        name,
        {
            "verdict": (before and before.verdict, now and now.verdict),
            "expected": (_threshold(before), _threshold(now)),
        },
    )
    first, second = as_dict(before and before.measured), as_dict(now and now.measured)
    if not first or not second:
        return
    if name == PREFLIGHT:
        yield from _of_preflight(first, second)
    elif name == PAIRS:
        names = {side: _names(values["slow"]) for side, values in (("before", first), ("now", second))}
        yield from _different(name, {"slow": (names["before"], names["now"])})
        yield from _different(name, {key: (first.get(key), second.get(key)) for key in ("torch", "library")})
    else:
        yield from _of_benchmark(name, first, second)


def _of_preflight(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    nodes = [set(side["nodes"]) for side in (before, now)]
    if added := sorted(nodes[1] - nodes[0]):
        yield Change(PREFLIGHT, "nodes", None, node_names(added))
    if gone := sorted(nodes[0] - nodes[1]):
        yield Change(PREFLIGHT, "nodes", node_names(gone), None)
    checks, properties = ([side[key] for side in (before, now)] for key in ("checks", "properties"))
    yield from _different(PREFLIGHT, {f"check {name}": _both(checks, name) for name in _all(checks)})
    yield from _different(
        PREFLIGHT,
        {name: (_property(properties[0].get(name)), _property(properties[1].get(name))) for name in _all(properties)},
    )


def _of_benchmark(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    yield from _different(name, {key: (before.get(key), now.get(key)) for key in SETUP})
    size, reached = now["bytes"], now["busbw_gb_per_s"]
    if not is_alike(before, now) or not (earlier := dict(curve_of(before)).get(size)):
        return  # another number of ranks or another fabric is another benchmark
    percent = 100 * (reached / earlier - 1)
    yield Change(
        name, f"busbw at {size_text(size)}", f"{bandwidth(earlier)} GB/s", f"{bandwidth(reached)} GB/s", percent
    )


def _different(stage: str, pairs: Mapping[str, tuple[Any, Any]]) -> Iterator[Change]:
    for subject, sides in pairs.items():
        before, now = (None if side is None else str(side) for side in sides)
        if before != now:
            yield Change(stage, subject, before, now)


def _all(sides: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys([*sides[1], *sides[0]]))


def _both(sides: Sequence[Mapping[str, Any]], name: str) -> tuple[Any, Any]:
    return sides[0].get(name), sides[1].get(name)


def _property(row: object) -> str | None:
    """Return a property of the nodes: the value of most, and of those that differ."""
    known = as_dict(row)
    odd = [f"{node}: {value}" for node, value in sorted(as_dict(known.get("odd")).items())]
    return (
        ", but ".join([str(known.get("majority")), *([names_text(odd, MOST_NAMES)] if odd else [])]) if known else None
    )


def _names(slow: Sequence[str]) -> str | None:
    return names_text(slow, MOST_NAMES) if slow else None


def _threshold(stage: StageOutcome | None) -> str | None:
    return threshold_text(stage.threshold) if stage and stage.threshold else None
