# SPDX-License-Identifier: GPL-3.0-or-later
"""What the logs of a run say together: each signature once, the most likely cause first."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .scan import Scanner, Sighting
from .signature import KINDS, NOTICE, Signature, load

# Of an evidence line: what a document keeps.
EVIDENCE_CHARACTERS = 1000


@frozen
class LogPlace:
    """A signature in one log of a node or a rank, either None where that is not known; file is the log's name."""

    node: str | None
    rank: int | None
    file: str
    sighting: Sighting

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        where = {"node": self.node, "rank": self.rank, "file": self.file}
        sighting = {name: getattr(self.sighting, name) for name in ("line", "time", "text", "count")}
        return {**where, **sighting, "text": self.sighting.text[:EVIDENCE_CHARACTERS]}


@frozen
class Diagnosis:
    """One signature with all its places, the earliest first."""

    signature: Signature
    places: Sequence[LogPlace]

    @property
    def count(self) -> int:
        """How many lines there are."""
        return sum(place.sighting.count for place in self.places)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        known = {name: getattr(self.signature, name) for name in ("name", "kind", "cause", "fix", "source")}
        return {**known, "count": self.count, "places": [place.to_dict() for place in self.places]}


@functools.cache
def scanner() -> Scanner:
    """Return the catalog's scanner."""
    return Scanner(load())


@frozen
class FailedPlace:
    """Where a run failed, by its record, and the lines of that: of a rank, else of the launcher on a node."""

    node: object
    rank: object
    lines: Sequence[str]

    def weight(self, diagnosis: Diagnosis, explaining: Collection[str]) -> int:
        """Return 0 for what explains its lines, 1 for what is in its log, 2 for the rest."""
        is_there = any(
            place.rank == self.rank and (place.rank is not None or place.node == self.node)
            for place in diagnosis.places
        )
        return 0 if diagnosis.signature.name in explaining else 1 if is_there else 2


def diagnose(places: Iterable[LogPlace], failed: FailedPlace | None = None) -> list[Diagnosis]:
    """Group by signature: causes before consequences before notices.

    Of a kind, what is known of the place that failed comes first, then what the logs have first. A log without times
    comes after those with them, in the order in which the places are given.
    """
    matches = [scanner().best(line.encode("utf-8", "replace")) for line in failed.lines] if failed else []
    explaining = {signature.name for signature in matches if signature}
    groups: dict[str, list[LogPlace]] = {}
    for place in places:
        groups.setdefault(place.sighting.signature.name, []).append(place)
    diagnoses = [Diagnosis(group[0].sighting.signature, sorted(group, key=_time)) for group in groups.values()]
    weights = {one.signature.name: failed.weight(one, explaining) if failed else 0 for one in diagnoses}
    return sorted(
        diagnoses,
        key=lambda one: (KINDS.index(one.signature.kind), weights[one.signature.name], _time(one.places[0])),
    )


def likeliest(lines: Iterable[str]) -> Signature | None:
    """Return the signature that explains a failure best by its last lines: a cause, else the first consequence."""
    matches = (scanner().best(line.encode("utf-8", "replace")) for line in lines)
    known = [signature for signature in matches if signature and signature.kind != NOTICE]
    return min(known, key=lambda signature: KINDS.index(signature.kind), default=None)


def _time(place: LogPlace) -> tuple[bool, str]:
    return (place.sighting.time is None, place.sighting.time or "")
