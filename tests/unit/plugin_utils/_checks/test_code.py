# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the state of the code on all nodes: commit, branch, changes."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Launch
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, line
from ansible_collections.muster.train.tests.support.plan_parts import facts, wrong

BY_NAME, TYPED = Launch(), Launch(call="ansible-playbook -i inv", options=("-i", "inv"))
DIRTY = {"code__dirty": True, "code__changes": "c" * 64}


def cluster(*changes: dict[str, Any]) -> dict[str, NodeFacts]:
    return {f"node{number}": facts(number, **change) for number, change in enumerate(changes)}


def check_code(
    nodes: dict[str, NodeFacts], launch: Launch = BY_NAME, expected: dict[str, Any] | None = None
) -> list[Finding]:
    return wrong("code", nodes, launch=launch, expected=expected or {})


def observations(findings: list[Finding]) -> list[tuple[str | None, str, str]]:
    return [(finding.node, finding.status, finding.observed) for finding in findings]


def test_another_commit_fails_with_the_command_that_fixes_it() -> None:
    [finding] = check_code(cluster({}, {"code__commit": "b" * 40}, {}), TYPED)
    assert finding.stops
    assert line(finding) == (
        "node1: code: commit bbbbbbbbbbbb; expected one commit on every node, aaaaaaaaaaaa as on node0 and node2 "
        "(launch_code_dir); ansible node1 -i inv -m ansible.builtin.command -a "
        f"'git -C /home/ann/code checkout {'a' * 40}'; or copy the code to all nodes: "
        "ansible-playbook -i inv muster.train.setup --tags code"
    )


def test_another_branch_stops_and_a_detached_head_is_none() -> None:
    findings = check_code(cluster({}, {"code__branch": "wip"}, {"code__branch": None}))
    assert observations(findings) == [("node1", "fail", "branch wip")]
    assert "git -C /home/ann/code checkout main" in str(findings[0].remedy)


def test_the_same_changes_everywhere_are_the_same_code() -> None:
    assert check_code(cluster(DIRTY, DIRTY)) == []


def test_other_changes_stop() -> None:
    findings = check_code(cluster({}, DIRTY, {}))
    assert observations(findings) == [("node1", "fail", "changes cccccccccccc")]
    assert findings[0].expected == "the same changes on every node, no changes as on node0 and node2"


def test_changes_that_cannot_be_compared_are_a_warning() -> None:
    unknown = {"code__dirty": True}
    findings = check_code(cluster(unknown, unknown), TYPED)
    assert [(finding.node, finding.status) for finding in findings] == [("node0", "warn"), ("node1", "warn")]
    anew = "ansible-playbook -i inv muster.train.setup --tags code"
    assert {str(finding.remedy) for finding in findings} == {f"commit them, or copy the code to all nodes: {anew}"}
    assert check_code(cluster(unknown)) == []


def test_one_fault_is_reported_once() -> None:
    other = {"code__commit": "b" * 40, "code__branch": "wip", **DIRTY}
    assert [finding.observed for finding in check_code(cluster({}, other, {}))] == ["commit bbbbbbbbbbbb"]


def test_the_profile_may_name_a_short_commit() -> None:
    assert check_code(cluster({}, {}), expected={"commit": "a" * 8, "branch": "main"}) == []
    assert len(check_code(cluster({}, {}), expected={"commit": "b" * 8})) == 2


def test_no_other_branch_has_a_name_that_begins_alike() -> None:
    release = {"code__branch": "release-2"}
    assert len(check_code(cluster(release, release), expected={"branch": "release"})) == 2


def test_git_does_not_fix_code_that_it_did_not_check_out() -> None:
    marked = {"code__source": ".muster-code.json"}
    [finding] = check_code(cluster(marked, {**marked, "code__commit": "b" * 40}, marked), TYPED)
    assert str(finding.remedy) == "copy the code to all nodes: ansible-playbook -i inv muster.train.setup --tags code"


NONE = {"code__commit": None, "code__branch": None, "code__dirty": None, "code__source": None}


def test_no_checkout_where_the_peers_have_one_stops() -> None:
    [finding] = check_code(cluster({}, NONE, {}))
    assert observations([finding]) == [("node1", "fail", "/home/ann/code is not a checkout")]
    assert str(finding.remedy) == "copy the code to all nodes: ansible-playbook muster.train.setup --tags code"
    assert check_code(cluster(NONE, NONE)) == []
    [finding] = check_code(cluster(NONE, {}, NONE))
    assert (finding.node, finding.expected) == ("node1", "one commit on every node, no checkout as on node0 and node2")
    assert [finding.node for finding in check_code(cluster({}, NONE), expected={"commit": "a" * 8})] == ["node1"]


def test_unreadable_code_is_not_compared() -> None:
    assert check_code(cluster({}, {**NONE, "code__why": "git is not installed"}, {})) == []
    assert check_code(cluster({}, {"code__dirty": None, "code__why": "it took too long"}, {})) == []
    assert check_code(cluster({}, {**NONE, "code__exists": False}, {})) == []
