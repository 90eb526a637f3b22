# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the state of the code on all nodes: commit, branch, changes."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.node import LISTED_FILES, NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._checks.code import state
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Launch
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, line
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.tests.support.plan_parts import facts, wrong

BY_NAME, TYPED = Launch(), Launch(invocation=Invocation("ansible-playbook -i inv", ("-i", "inv")))
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


def test_a_difference_in_changes_names_files() -> None:
    changed = {**DIRTY, "code__files": {"a.py": "1", "b.py": "2", "c.py": "", "d.py": "4", "e\n.py": "5"}}
    other = {"code__dirty": True, "code__changes": "d" * 64, "code__files": {"a.py": "1", "b.py": "3"}}
    [finding] = check_code(cluster({}, changed, {}))
    assert finding.observed == "changes cccccccccccc in a.py, b.py, c.py and 2 more"
    [finding] = check_code(cluster(other, changed, other))
    assert finding.observed == "changes cccccccccccc in b.py, c.py, d.py and 1 more"
    assert finding.expected == "the same changes on every node, changes dddddddddddd as on node0 and node2"
    [finding] = check_code(cluster(other, {}, other))
    assert finding.observed == "no changes"
    assert finding.expected.endswith(", changes dddddddddddd in a.py and b.py as on node0 and node2")


def test_changes_that_cannot_be_compared_are_a_warning() -> None:
    unknown = {"code__dirty": True, "code__uncompared": "big.py is larger than 64 MiB"}
    findings = check_code(cluster(unknown, unknown), TYPED)
    assert [(finding.node, finding.status) for finding in findings] == [("node0", "warn"), ("node1", "warn")]
    observed = "changed files that could not be compared: big.py is larger than 64 MiB"
    assert {finding.observed for finding in findings} == {observed}
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


def tree(*names: str, **contents: str) -> dict[str, Any]:
    """Return the facts of a copy without git: each of the names with the same content, the others with these."""
    files = {**dict.fromkeys(names, "0"), **{f"{name}.py": content for name, content in contents.items()}}
    return {
        "code__source": ".muster-code.json",
        "code__files": files,
        "code__tree": sha256(str(sorted(files.items())).encode()).hexdigest(),
    }


def test_an_edited_file_of_a_copy_stops_and_is_named() -> None:
    [finding] = check_code(cluster(tree(parts="1"), tree(parts="2"), tree(parts="1")), TYPED)
    assert finding.stops
    assert line(finding) == (
        "node1: code: changed files: parts.py; expected the same files on every node, as on node0 and node2 "
        "(launch_code_dir); copy the code to all nodes: ansible-playbook -i inv muster.train.setup --tags code"
    )
    assert check_code(cluster(tree(parts="1"), tree(parts="1"))) == []


def test_files_that_only_some_copies_have() -> None:
    [finding] = check_code(cluster(tree(a="1"), tree("b.py", "c.py", "d.py", "e\n.py"), tree(a="1")))
    assert finding.observed == "additional files: b.py, c.py, d.py and 1 more; missing files: a.py"
    assert str(finding.remedy) == (
        "copy the code to all nodes: ansible-playbook muster.train.setup --tags code; to delete additional files: "
        "ansible-playbook muster.train.setup --tags code -e code_rsync_delete=true"
    )


def test_a_list_that_was_cut_lacks_no_files() -> None:
    names = [f"m{number:04}.py" for number in range(LISTED_FILES)]
    [finding] = check_code(cluster(tree(*names), tree("a.py", *names[:-1])))
    assert finding.observed == "additional files: a.py"
    beyond = {"code__tree": "another", "code__files": dict.fromkeys(names, "0")}
    [finding] = check_code(cluster(tree(*names), beyond))
    assert finding.observed == "other files"


def test_without_a_commit_files_are_compared_too() -> None:
    [finding] = check_code(cluster({**NONE, **tree(a="1")}, {**NONE, **tree(a="2")}))
    assert observations([finding]) == [("node1", "fail", "changed files: a.py")]


def test_nodes_agree_in_changes_only_if_their_files_are_the_same() -> None:
    copies = cluster(tree(a="1"), tree(a="2"), {**NONE, **tree(a="1")}, DIRTY, {"code__uncompared": "too large"})
    states = [state(node.code) for node in copies.values() if node.code]
    digest = copies["node0"].code.tree[:12] if copies["node0"].code and copies["node0"].code.tree else ""
    assert states[0] == f"no changes, files {digest}"
    assert states[1] not in (None, states[0])
    assert states[2:] == [f"files {digest}", "changes cccccccccccc", None]


def test_files_that_cannot_be_compared_are_a_warning() -> None:
    large = {**NONE, "code__uncompared": "there are more than 7 files"}
    findings = check_code(cluster(large, {**NONE, **tree(a="1")}))
    assert observations(findings) == [
        ("node0", "warn", "files that could not be compared: there are more than 7 files")
    ]
    assert str(findings[0].remedy) == "keep data and outputs outside of launch_code_dir"
    assert check_code(cluster(large)) == []
