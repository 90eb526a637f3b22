# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of slots that other runs hold, or wait for."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Launch
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line, lines
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.tests.support.plan_parts import facts, wrong


def cluster(*changes: dict[str, Any]) -> dict[str, NodeFacts]:
    return {f"node{number}": facts(number, **change) for number, change in enumerate(changes)}


def test_a_held_slot_names_the_holder_and_how_to_stop_it() -> None:
    holder = {"run_id": "multinode_1", "nonce": "f", "node": "gpu7", "pid": 4, "since": "2026-11-20T10:00:00Z"}
    launch = Launch(invocation=Invocation("ansible-playbook -i lab"))
    findings = wrong("slot", cluster({}, {"holder": holder}), launch=launch)
    assert [(finding.node, finding.status) for finding in findings] == [("node1", "fail")]
    text = line(findings[0])
    assert "slot default is held by run multinode_1 as node gpu7 since 2026-11-20T10:00:00Z; expected" in text
    assert text.endswith("ansible-playbook -i lab muster.train.stop -e run_id=multinode_1")


def test_a_slot_that_one_run_holds_on_all_nodes_is_one_line() -> None:
    held = {"run_id": "multinode_1", "nonce": "f", "pid": 4}
    holders = [{**held, "node": f"node{number}", "since": f"2026-11-20T10:00:0{2 - number}Z"} for number in (0, 1)]
    findings = wrong("slot", cluster(*({"holder": holder} for holder in holders)))
    failed = [finding.node for finding in findings if finding.status == "fail"]
    assert failed == ["node0", "node1"], "a spare can take the place of each"
    [text] = lines(findings)
    assert text.startswith(
        "node0 and node1: slot: slot default is held by run multinode_1 since 2026-11-20T10:00:01Z; "
    )


def test_slots_that_two_runs_hold_are_two_lines() -> None:
    holders = [{"run_id": f"multinode_{number}", "since": "2026-11-20T10:00:00Z"} for number in (0, 1)]
    assert len(lines(wrong("slot", cluster(*({"holder": holder} for holder in holders))))) == 2


def test_a_slot_is_kept_for_the_launch_that_waits_for_it_and_for_no_other() -> None:
    holder = {"run_id": "multinode_1", "nonce": "f", "since": "2026-11-20T10:00:00Z", "waits": True}
    waiting = cluster({"holder": holder})
    [finding] = wrong("slot", waiting, launch=Launch(nonce="e"))
    assert finding.observed == "slot default is kept for run multinode_1 since 2026-11-20T10:00:00Z, which waits for it"
    assert wrong("slot", waiting, launch=Launch(nonce="f")) == []


def test_a_holder_without_a_name_is_still_a_holder() -> None:
    holder = dict.fromkeys(("run_id", "nonce", "node", "pid", "since"))
    [finding] = wrong("slot", cluster({"holder": holder}), policy=ClusterPolicy(slot="gpu"))
    assert finding.observed == "slot gpu is held by an unidentified run"
    assert str(finding.remedy) == "launch with -e wait=2h, which queues for it"


def test_a_holder_whose_name_is_not_a_run_id_gets_no_command() -> None:
    [finding] = wrong("slot", cluster({"holder": {"run_id": "a;reboot"}}))
    assert str(finding.remedy) == "launch with -e wait=2h, which queues for it"
