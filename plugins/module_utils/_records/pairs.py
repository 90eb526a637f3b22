# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes that measure each other in pairs have found, as the head writes it and the controller reads it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .document import as_count, as_integer, as_integers, as_number, as_text
from .frozen import field, frozen
from .known import as_dict

RESULT = "pairs.json"
MEASURED, UNREACHABLE, STALLED, FAILED = OUTCOMES = ("measured", "unreachable", "stalled", "failed")
NODE, RAIL, LINK = KINDS = ("node", "rail", "link")
REACH, MTU, RESENT, BANDWIDTH, LATENCY = METRICS = ("reach", "mtu", "resent", "bandwidth", "latency")
MOST_NODES = 65536


@frozen
class PairSample:
    """One measurement of two nodes by their ranks of one rail; the lower node is first, a number that is unknown None.

    latency_s is half of a quick round trip, bandwidth the bytes per second and direction while both send, resent the
    part of TCP's segments that the worse end sent again, segment the bytes of one, why what went wrong, towards the
    node to which no connection could be made.
    """

    round: int
    first: int
    second: int
    rail: int
    outcome: str
    latency_s: float | None = None
    bandwidth: float | None = None
    resent: float | None = None
    segment: int | None = None
    why: str = ""
    towards: int | None = None

    @property
    def pair(self) -> tuple[int, int]:
        """The two nodes."""
        return self.first, self.second

    def to_list(self) -> list[Any]:
        """Return it as a row."""
        return list(vars(self).values())


@frozen
class Deviation:
    """What was measured in one metric, and what is typical of the others; of reach the part that worked."""

    metric: str
    value: float
    typical: float


@frozen
class Culprit:
    """What is slow or broken: a node, one rail of a node, or the link between two nodes, with the worst metric first.

    A rail without nodes is that of all nodes. rail is None where all rails are concerned. why is what a measurement
    said that did not work.
    """

    kind: str
    nodes: list[int]
    rail: int | None
    deviations: list[Deviation]
    measurements: int
    why: str = ""


@frozen
class PairSearch:
    """All samples, and what they lead to; reason says why nothing can be concluded, empty where it can.

    groups are nodes that reach each other and not the other groups. unnamed are the measurements that failed and of
    which nothing that is named is the cause, unmeasured the suspects that could not be measured again often enough.
    """

    nodes: int
    rounds: int
    samples: list[PairSample]
    culprits: list[Culprit]
    reason: str = ""
    torch: str | None = None
    library: str | None = None
    groups: list[list[int]] = field(default_factory=list)
    unnamed: int = 0
    unmeasured: int = 0

    @property
    def is_bad(self) -> bool:
        """Whether anything is slow or broken, or may be: what is not known to be well is not."""
        return bool(self.culprits or self.groups or self.unnamed or self.unmeasured)


def low(values: Iterable[float]) -> float | None:
    """Return the value that a third of the values do not exceed; None of no values."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 3] if ordered else None


def read_sample(row: object) -> PairSample | None:
    """Return the sample of a row; None for what is none."""
    if not isinstance(row, list) or len(row) != 11:
        return None
    places = as_integers(row[:4])
    outcome, why = as_text(row[4]), as_text(row[9])
    if (
        outcome not in OUTCOMES
        or not places
        or len(places) != 4
        or not all(0 <= place < MOST_NODES for place in places)
        or not places[1] < places[2]
    ):
        return None
    number, first, second, rail = places
    latency, bandwidth, resent = (_positive(value) for value in row[5:8])
    segment, towards = as_integer(row[8]), row[10] if row[10] in (first, second) else None
    return PairSample(number, first, second, rail, outcome, latency, bandwidth, resent, segment, why or "", towards)


def read_search(data: object) -> PairSearch | None:
    """Return what a document of the head says; None for a text that is none."""
    known = as_dict(data)
    nodes, rounds, rows, items = (known.get(name) for name in ("nodes", "rounds", "samples", "culprits"))
    if not isinstance(nodes, int) or not isinstance(rounds, int) or not isinstance(rows, list):
        return None
    samples = [sample for row in rows if (sample := read_sample(row)) is not None and sample.second < nodes]
    culprits = [_read_culprit(as_dict(item), nodes) for item in items] if isinstance(items, list) else []
    texts = [as_text(known.get(name)) for name in ("reason", "torch", "library")]
    rows = known.get("groups")
    groups = [as_integers(row) or [] for row in rows] if isinstance(rows, list) else []
    groups = [group for group in groups if group and all(0 <= place < nodes for place in group)]
    counts = [as_count(known.get(name)) for name in ("unnamed", "unmeasured")]
    return PairSearch(
        nodes=nodes,
        rounds=rounds,
        samples=samples,
        culprits=[item for item in culprits if item],
        reason=texts[0] or "",
        torch=texts[1],
        library=texts[2],
        groups=groups,
        unnamed=counts[0],
        unmeasured=counts[1],
    )


def _read_culprit(item: dict[str, Any], nodes: int) -> Culprit | None:
    places, kind, count = as_integers(item.get("nodes")), item.get("kind"), as_integer(item.get("measurements"))
    rows, rail = item.get("deviations"), as_integer(item.get("rail"))
    if kind not in KINDS or places is None or count is None or not isinstance(rows, list):
        return None
    deviations = [deviation for row in rows if (deviation := _read_deviation(as_dict(row))) is not None]
    if len(places) != (2 if kind == LINK else 1) and (kind, places, rail is None) != (RAIL, [], False):
        return None
    if not deviations or not all(0 <= place < nodes for place in places):
        return None
    return Culprit(kind, places, rail, deviations, count, as_text(item.get("why")) or "")


def _read_deviation(item: dict[str, Any]) -> Deviation | None:
    metric, value, typical = item.get("metric"), _positive(item.get("value")), _positive(item.get("typical"))
    return None if metric not in METRICS or value is None or typical is None else Deviation(metric, value, typical)


def _positive(value: object) -> Any:
    number = as_number(value)
    return number if number is not None and math.isfinite(number) and number >= 0 else None
