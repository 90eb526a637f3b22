# SPDX-License-Identifier: GPL-3.0-or-later
"""An acceptance as it is kept: `accept.json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import Record, as_dict, parse_json

from .outcome import FAIL, SCHEMA, UNKNOWN, StageOutcome, verdict_of
from .profile import PREFLIGHT, SCOPES


@frozen
class Change(Record):
    """What is different from the acceptance before: of a stage, before and now; None where it was not, or is not."""

    stage: str
    subject: str
    before: str | None
    now: str | None
    percent: float | None = None


@frozen
class Acceptance(Record):
    """An acceptance; against is the one before, and changes what is different since. Times are UTC."""

    accept_id: str
    created: str
    command: str
    cluster: str | None
    is_complete: bool = False
    stages: list[StageOutcome] = field(default_factory=list)
    against: str | None = None
    changes: list[Change] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The verdict on the cluster; unknown until all stages have run."""
        verdict = verdict_of(self.stages)
        return verdict if self.is_complete or verdict == FAIL else UNKNOWN

    def stage(self, name: str) -> StageOutcome | None:
        """Return a stage by its name."""
        return next((stage for stage in self.stages if stage.name == name), None)

    @property
    def node_counts(self) -> tuple[int, int]:
        """How many nodes every benchmark measured, and how many were checked; 0 where none was."""
        known = {stage.name: stage.measured for stage in self.stages if stage.measured}
        measured = [known[name]["nnodes"] for name in SCOPES if name in known]
        return min(measured, default=0), len(as_dict(known.get(PREFLIGHT)).get("nodes", ()))

    def to_document(self) -> dict[str, Any]:
        """Return it as `accept.json` has it."""
        return {"schema": SCHEMA, "verdict": self.verdict, **self.to_dict()}


def read_acceptance(text: str | None) -> Acceptance | None:
    """Return what an `accept.json` has; None if it is none."""
    try:
        return Acceptance.from_dict(as_dict(parse_json(text)))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def last_of(known: Iterable[Acceptance | None], now: Acceptance) -> Acceptance | None:
    """Return the newest acceptance of the same cluster that had all its stages, other than this one."""
    alike = [
        other
        for other in known
        if other and other.is_complete and other.cluster == now.cluster and other.accept_id != now.accept_id
    ]
    return max(alike, key=lambda other: (other.created, other.accept_id), default=None)
