# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head concludes of a run's fabric from what its nodes read in NCCL's logs; no sockets, no clock.

NCCL connects ranks when they first meet in a collective, so what a node has not shown by the first step it lacks. A
program that reports no step is judged once the logs of its nodes have been quiet, and at its end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..._records.document import as_number
from ..._records.job import TransportProof
from ..._records.known import as_dict
from ..._records.transport import FAIL, PASS, TRANSPORT, UNKNOWN, NodeTransport, TransportVerdict
from ..._records.transport_verdict import conclude, describe
from .coordinator import Coordinator
from .end_cause import MAX_WHY_BYTES, EndCause
from .frames import short
from .signs import Signs

# After the first step: a sign of life that came so much later is of a node whose log was read since, and what such a
# node does not show after the longer time it does not have.
READ_S, SETTLED_S = 1.5, 6.0


class TransportWatch:
    """Watches one run if that is_needed; verdict is what it has concluded of this attempt, None before."""

    def __init__(self, proof: TransportProof | None) -> None:
        self.verdict: TransportVerdict | None = None
        self.is_needed, self._proof = proof is not None, proof
        self._attempt = -1
        self._first_step: float | None = None
        self._stepped_at: float | None = None
        self._reports: dict[int, tuple[object, NodeTransport | None]] = {}  # of which sign

    def watch(self, coordinator: Coordinator, signs: Signs, now: float) -> None:
        """Conclude what the signs of this attempt show, and end a run that the policy does not let go on."""
        if self._proof is None:
            return
        if coordinator.attempt != self._attempt:
            self.verdict, self._attempt = None, coordinator.attempt
            self._first_step = self._stepped_at = None
            self._reports = {}
        latest = signs.latest(coordinator.attempt)
        self._note_step(latest, now)
        known = self._conclude(coordinator, latest, signs.stalled_s, is_over=False)
        if known is not None:
            self.verdict = known
            if self._ends(known):
                coordinator.on_finding(self._cause(known), now)

    def final_cause(self, coordinator: Coordinator, signs: Signs) -> EndCause | None:
        """Return why a run whose ranks have all succeeded has failed: its fabric was to be proved, and is not."""
        if self._proof is None:
            return None
        known = self._conclude(coordinator, signs.latest(coordinator.attempt), {}, is_over=True)
        self.verdict = known
        return self._cause(known) if known is not None and self._ends(known) else None

    def _ends(self, verdict: TransportVerdict) -> bool:
        return self._proof is not None and self._proof.action == FAIL and verdict.verdict != PASS

    def _cause(self, verdict: TransportVerdict) -> EndCause:
        self.verdict = dataclasses.replace(verdict, is_stopped=True)
        why = short(f"fabric {describe(verdict)}", MAX_WHY_BYTES)
        return EndCause("failed", why, verdict.node, kind=TRANSPORT)

    def _note_step(self, latest: Mapping[int, tuple[float, dict[str, Any]]], now: float) -> None:
        steps = [as_number(as_dict(sign.get("progress")).get("step")) for _came, sign in latest.values()]
        known = [step for step in steps if step is not None]
        if known and self._stepped_at is None:
            self._first_step = min(known) if self._first_step is None else self._first_step
            # A program may name its first step before it has made it.
            if max(known) > self._first_step:
                self._stepped_at = now

    def _conclude(
        self,
        coordinator: Coordinator,
        latest: Mapping[int, tuple[float, dict[str, Any]]],
        stalled: Mapping[int, int],
        is_over: bool,
    ) -> TransportVerdict | None:
        numbers = {number: node.name for number, node in enumerate(coordinator.nodes) if node.rank is not None}
        reports = {number: self._report(number, latest[number][1]) for number in numbers if number in latest}
        nodes = {name: reports.get(number) for number, name in numbers.items()}
        since = {number: self._seconds_since_step(latest, number) for number in numbers}
        # What a node has not read yet may show the rest.
        behind = {number for number, report in reports.items() if report is not None and report.is_behind}
        connected = [
            name
            for number, name in numbers.items()
            if (since[number] >= READ_S and number not in behind)
            or ((report := reports.get(number)) is not None and report.is_quiet)
        ]
        is_settled = is_over or (min(since.values()) >= SETTLED_S and not stalled and not behind)
        known = conclude(nodes, connected, is_settled)
        # What was proved stays so in this attempt, until another fabric shows.
        is_proved = self.verdict is not None and self.verdict.verdict == PASS and self._attempt == coordinator.attempt
        return self.verdict if is_proved and known is not None and known.verdict == UNKNOWN else known

    def _seconds_since_step(self, latest: Mapping[int, tuple[float, dict[str, Any]]], number: int) -> float:
        """Return how long after the first step the last sign of a node came; negative without one of the two."""
        if self._stepped_at is None or number not in latest:
            return -1.0
        return latest[number][0] - self._stepped_at

    def _report(self, number: int, sign: Mapping[str, Any]) -> NodeTransport | None:
        """Return what a sign says of the fabric; each is read once, as a thousand are kept."""
        if number not in self._reports or self._reports[number][0] is not sign:
            self._reports[number] = sign, NodeTransport.optional(sign.get("transport"))
        return self._reports[number][1]
