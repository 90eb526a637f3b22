# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between runs, and which differences of their numbers are more than noise.

Runs with the same settings are repeats. The noise of a number is the largest difference between repeats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._request.conditions import text_of
from .changes import percent_of, shortened, spread_of
from .compared import FIRST, PARTS, ComparedRun
from .rows import number


@frozen
class SettingDifference:
    """A setting in which runs differ, by the part that it belongs to: its value in each run, None where it has none."""

    part: str
    name: str
    values: Sequence[Any]


@frozen
class MetricDifference:
    """A number in which runs differ, or the verdict.

    Against the first run: the change of each in percent, and whether it is above the noise; None where that is not
    known.
    """

    name: str
    values: Sequence[Any]
    changes_percent: Sequence[float | None]
    noise: float | None
    above_noise: Sequence[bool | None]


@frozen
class Comparison:
    """What differs between runs, and the names of the parts and the metrics that are the same in all.

    unknown are (run ID, part) of what could not be compared. repeats are the run IDs with the same settings, of which
    the noise comes; a sweep's may be others than those that are compared.
    """

    runs: Sequence[str]
    differences: Sequence[SettingDifference]
    metrics: Sequence[MetricDifference]
    same: Sequence[str]
    unknown: Sequence[tuple[str, str]]
    repeats: Sequence[Sequence[str]]

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the document, with texts for what a user wrote into `run.yml` that JSON does not have."""
        unknown = [{"run_id": run_id, "part": part} for run_id, part in self.unknown]
        data: dict[str, Any] = json.loads(json.dumps({**asdict(self), "unknown": unknown}, default=str))
        return data


def compare(runs: Sequence[ComparedRun], others: Iterable[ComparedRun] = ()) -> Comparison:
    """Compare runs with the first one; others may be repeats of them."""
    groups = _repeats([*runs, *others])
    differences = [difference for part in PARTS for difference in _differences(part, runs)]
    names = [*FIRST, *sorted({name for run in runs for name in run.metrics} - {*FIRST})]
    is_same = {name: len({text_of(run.metrics.get(name)) for run in runs}) == 1 for name in names}
    parts = [part for part in PARTS if all(part not in run.unknown for run in runs)]
    return Comparison(
        runs=[run.run_id for run in runs],
        differences=differences,
        metrics=[_metric(name, runs, groups) for name in names if not is_same[name]],
        same=[part for part in parts if part not in {difference.part for difference in differences}]
        + [name for name in names if is_same[name] and name in runs[0].metrics],
        unknown=[(run.run_id, part) for run in runs for part in run.unknown],
        repeats=[[run.run_id for run in group] for group in groups],
    )


def _differences(part: str, runs: Sequence[ComparedRun]) -> list[SettingDifference]:
    known = [run.settings[part] for run in runs]
    names = dict.fromkeys(name for values in known for name in values or ())
    return [
        SettingDifference(part, name, [values.get(name) if values else None for values in known])
        for name in names
        if len({text_of(values.get(name)) for values in known if values}) > 1
    ]


def _repeats(runs: Sequence[ComparedRun]) -> list[list[ComparedRun]]:
    """Return the runs that succeeded with the same settings, all of which are known, where there is more than one."""
    groups: dict[str, list[ComparedRun]] = {}
    for run in runs:
        if not run.unknown and run.metrics.get("verdict") == "succeeded":
            settings = {
                part: {name: text_of(item) for name, item in (known or {}).items()}
                for part, known in run.settings.items()
            }
            groups.setdefault(json.dumps(settings, sort_keys=True), []).append(run)
    return [group for group in groups.values() if len(group) > 1]


def _metric(name: str, runs: Sequence[ComparedRun], groups: Sequence[Sequence[ComparedRun]]) -> MetricDifference:
    numbers = [_finite(run, name) for run in runs]
    first, noise = numbers[0], _noise(name, groups)
    steps = [None if first is None or value is None else shortened(value - first) for value in numbers[1:]]
    return MetricDifference(
        name=name,
        values=[run.metrics.get(name) for run in runs],
        changes_percent=[
            None,
            *(None if step is None or first is None else percent_of(step, first) for step in steps),
        ],
        noise=noise,
        above_noise=[None, *(None if step is None or noise is None else abs(step) > noise for step in steps)],
    )


def _noise(name: str, groups: Sequence[Sequence[ComparedRun]]) -> float | None:
    known = [[value for run in group if (value := _finite(run, name)) is not None] for group in groups]
    spreads = [spread for values in known if (spread := spread_of(name, values)) is not None]
    return shortened(max(spreads)) if spreads else None


def _finite(run: ComparedRun, name: str) -> float | None:
    value = number(run.metrics.get(name))
    return value if value is not None and math.isfinite(value) else None
