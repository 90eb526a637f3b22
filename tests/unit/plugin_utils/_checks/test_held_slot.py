# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of slots that other runs hold, or wait for."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Launch
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import lines
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.tests.support.cases import Case, case_of, cluster, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import wrong


def held_by(*holders: dict[str, Any]) -> list[dict[str, Any]]:
    """The changes of nodes whose slots are held."""
    return [{"holder": holder} for holder in holders]


SINCE = "2026-11-20T10:00:00Z"
HOLDER = {"run_id": "multinode_1", "nonce": "f", "node": "gpu7", "pid": 4, "since": SINCE}
HELD = {"run_id": "multinode_1", "nonce": "f", "pid": 4}
ON_ALL = [{**HELD, "node": f"node{number}", "since": f"2026-11-20T10:00:0{2 - number}Z"} for number in (0, 1)]
TWO_RUNS = [{"run_id": f"multinode_{number}", "since": SINCE} for number in (0, 1)]
WAITING = {"run_id": "multinode_1", "nonce": "f", "since": SINCE, "waits": True}
NAMELESS = dict.fromkeys(("run_id", "nonce", "node", "pid", "since"))
CALL = Launch(invocation=Invocation("ansible-playbook -i lab"))


ON_HEAD, ON_BOTH = {"node0": "fail"}, {"node0": "fail", "node1": "fail"}
CASES = [
    case_of("slot", "a held slot", {"node1": "fail"}, {}, {"holder": HOLDER}, launch=CALL),
    # Both nodes: a spare can take the place of each.
    case_of("slot", "a slot that one run holds on all nodes", ON_BOTH, *held_by(*ON_ALL)),
    case_of("slot", "slots that two runs hold", ON_BOTH, *held_by(*TWO_RUNS)),
    case_of("slot", "a slot that is kept for another launch", ON_HEAD, *held_by(WAITING), launch=Launch(nonce="e")),
    case_of("slot", "a holder without a name", ON_HEAD, *held_by(NAMELESS), policy=ClusterPolicy(slot="gpu")),
    case_of("slot", "a holder whose name is not a run ID gets no command", ON_HEAD, *held_by({"run_id": "a;reboot"})),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_slot_that_is_not_free(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


@pytest.mark.parametrize(("parts", "count"), [(ON_ALL, 1), (TWO_RUNS, 2)])
def test_a_slot_of_one_run_is_one_line(parts: list[dict[str, Any]], count: int) -> None:
    assert len(lines(wrong("slot", cluster(*held_by(*parts))))) == count


def test_a_slot_is_kept_for_the_launch_that_waits_for_it() -> None:
    assert wrong("slot", cluster(*held_by(WAITING)), launch=Launch(nonce="f")) == []
