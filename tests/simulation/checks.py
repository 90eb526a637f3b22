# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold of every history."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ansible_collections.muster.train.plugins.module_utils._records.gang import LOST
from ansible_collections.muster.train.plugins.module_utils.runner.gang.base import heartbeat_s
from ansible_collections.muster.train.plugins.module_utils.runner.gang.head import Head
from ansible_collections.muster.train.plugins.module_utils.runner.gang.probe import PROBE_S

from .attempt import Claim
from .history import History
from .network import RESEND_S
from .node import Node
from .scenario import NEVER, PAUSES, Scenario

# The ticks of two runners and what the kernel needs, beside the time limits.
SLACK_S = 2.5


def violations(history: History) -> list[str]:
    """Return what a history violates, empty where all is well."""
    if history.living:
        names = ", ".join(f"n{node.number}" for node in history.living)
        return [f"after {history.limit_s:.0f} s these runners have not ended: {names}"]
    checks = (check_errors, check_ranks, check_starts, check_agreement, check_success, check_attempts, check_peace)
    return [text for check in checks for text in check(history)]


def check_errors(history: History) -> Iterator[str]:
    for node in history.nodes:
        if node.error is not None:
            yield f"the runner of n{node.number} failed: {type(node.error).__name__}: {node.error}"


def check_ranks(history: History) -> Iterator[str]:
    """A rank is held by one node, outside of the windows that docs/faults.md admits."""
    claims = sorted(_claims(history), key=lambda claim: claim.since)
    for earlier, later in itertools.combinations(claims, 2):
        if earlier.rank == later.rank and later.since < earlier.until and not _is_admitted(history, earlier, later):
            overlap = min(earlier.until, later.until) - later.since
            yield (
                f"n{earlier.node} and n{later.node} hold node rank {later.rank} at once, from {later.since:.3f} s for"
                f" {overlap:.3f} s"
            )


def _is_admitted(history: History, earlier: Claim, later: Claim) -> bool:
    """A frozen node, ranks that ignore SIGTERM under a killed runner, and processes that survive SIGKILL may stay."""
    scenario = history.scenario
    ends_itself_s = scenario.abort_grace + SLACK_S
    frozen = any(
        since >= earlier.since and since <= later.since <= until + ends_itself_s
        for since, until in history.nodes[earlier.node].freezes
    )
    return frozen or earlier.is_orphaned or (earlier.part.survives and earlier.node != later.node)


def check_starts(history: History) -> Iterator[str]:
    """Nothing starts in an attempt after the next one has begun, or where the head has given a node up."""
    claims = _claims(history)
    for claim in claims:
        given_up = history.losses.get(claim.node, NEVER)
        if claim.since > given_up + SLACK_S:
            yield f"n{claim.node} starts node rank {claim.rank} at {claim.since:.3f} s; given up at {given_up:.3f} s"
        begun = min((other.since for other in claims if other.attempt > claim.attempt), default=NEVER)
        if claim.since > begun:
            yield f"n{claim.node} starts attempt {claim.attempt} at {claim.since:.3f} s, after the next has begun"


def check_agreement(history: History) -> Iterator[str]:
    """Nodes that the head has not given up know its verdict; the others know none, or that they are lost."""
    head = history.nodes[0]
    verdict = _verdict(head)
    if verdict is None or not isinstance(head.gang, Head):
        return
    for node in history.nodes[1:]:
        known, its = _verdict(node), head.gang.coordinator.nodes[node.number]
        if known in (None, verdict) or its.state == LOST:
            continue
        # A node that ends without the head's last word says so, unless its part has succeeded.
        is_cut_off = known in ("lost", "stopped") and node.document["phase"] != "succeeded"
        if its.rank is None and node.job.is_spare and not node.claims:
            yield f"the unused spare n{node.number} says {known} of a run that the head calls {verdict}"
        elif node.claims and not is_cut_off:
            yield f"n{node.number} says {known} of a run that the head calls {verdict}"


def check_success(history: History) -> Iterator[str]:
    """A run that succeeded has had every rank in its last attempt, to its end."""
    if _verdict(history.nodes[0]) != "succeeded":
        return
    claims = _claims(history)
    last = max(claim.attempt for claim in claims)
    done = {claim.rank for claim in claims if claim.attempt == last and claim.code == 0}
    if len(done) != history.scenario.nnodes:
        yield f"the run succeeded, but of attempt {last} only the node ranks {sorted(done)} have"


def check_attempts(history: History) -> Iterator[str]:
    """No attempt beyond the restarts that are allowed, and none after a stop."""
    restarts, head = history.scenario.restarts, history.nodes[0]
    for claim in _claims(history):
        if claim.attempt > restarts:
            yield f"n{claim.node} starts attempt {claim.attempt}; expected at most {restarts} restarts"
        begun = min(other.since for other in _claims(history) if other.attempt == claim.attempt)
        if begun > head.stopped_at + SLACK_S and not head.freezes:
            yield f"n{claim.node} starts attempt {claim.attempt} at {claim.since:.3f} s, after the stop of n0"


def check_peace(history: History) -> Iterator[str]:
    """Without a fault, or with pauses that must be harmless, a run ends as its ranks do, and all nodes know it."""
    scenario = history.scenario
    if not _are_short(scenario) or any(start > 1.0 for start in scenario.starts):
        return
    if history.losses:
        yield f"without a fault that lasts, nodes are given up: {sorted(history.losses)}"
    claims = [claim for claim in _claims(history) if not claim.part.survives]
    for failed, other in itertools.permutations(claims, 2):
        fault_s = sum(fault.seconds + max(RESEND_S, fault.seconds) for fault in scenario.faults)
        end = failed.until + fault_s + scenario.abort_grace + 2 * SLACK_S
        if failed.code == 1 and other.attempt == failed.attempt and other.until > end:
            yield f"n{other.node} goes on for {other.until - failed.until:.3f} s after n{failed.node} has failed"
    verdicts = {_verdict(node) for node in history.nodes if not node.job.is_spare}
    attempts = [[part for (_node, number), part in scenario.parts.items() if number == attempt]
                for attempt in range(scenario.restarts + 1)]  # fmt: skip
    expected = "failed" if all(any(part.code for part in parts) for parts in attempts) else "succeeded"
    if verdicts != {expected} and not any(part.survives for part in scenario.parts.values()):
        yield f"without a fault that lasts the verdicts are {verdicts}; expected {expected}"


def _are_short(scenario: Scenario) -> bool:
    """Whether all faults are pauses that end, one by one, before a node may be given up for any of them."""
    # What the ticks and the network add to a pause.
    heard_s = heartbeat_s(scenario.nnodes, scenario.lost_after) + 2 * scenario.tick_s + 2 * scenario.latency[1]
    added_s = heard_s + PROBE_S + 2 * scenario.tick_s + 5 * scenario.latency[1]
    return all(
        fault.kind in PAUSES and fault.seconds + added_s < scenario.lost_after for fault in scenario.faults
    ) and all(
        not later.moment and later.at > earlier.at + earlier.seconds + added_s
        for earlier, later in itertools.pairwise(scenario.faults)
    )


def _verdict(node: Node) -> str | None:
    end = node.document.get("end")
    return end["verdict"] if end is not None and node.task is not None and node.task.is_over else None


def _claims(history: History) -> list[Claim]:
    return [claim for node in history.nodes for claim in node.claims]
