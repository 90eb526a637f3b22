# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the state of the code on all nodes: commit, branch, changes."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import LISTED_FILES, NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._checks.code import state
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Launch
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.tests.support.cases import Case, case_of, cluster, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import facts, wrong

BY_NAME, TYPED = Launch(), Launch(invocation=Invocation("ansible-playbook -i inv", ("-i", "inv")))
DIRTY = {"code__dirty": True, "code__changes": "c" * 64}
NONE = {"code__commit": None, "code__branch": None, "code__dirty": None, "code__source": None}
OTHER_COMMIT = {"code__commit": "b" * 40}
MARKED = {"code__source": ".muster-code.json"}
CHANGED = {**DIRTY, "code__files": {"a.py": "1", "b.py": "2", "c.py": "", "d.py": "4", "e\n.py": "5"}}
PEER = {"code__dirty": True, "code__changes": "d" * 64, "code__files": {"a.py": "1", "b.py": "3"}}
UNCOMPARED = {"code__dirty": True, "code__uncompared": "big.py is larger than 64 MiB"}
LARGE = {**NONE, "code__uncompared": "there are more than 7 files"}


def check_code(
    nodes: dict[str, NodeFacts], launch: Launch = BY_NAME, expected: dict[str, Any] | None = None
) -> list[Finding]:
    return wrong("code", nodes, launch=launch, expected=expected or {})


def tree(*names: str, **contents: str) -> dict[str, Any]:
    """Return the facts of a copy without git: each of the names with the same content, the others with these."""
    files = {**dict.fromkeys(names, "0"), **{f"{name}.py": content for name, content in contents.items()}}
    return {
        "code__source": ".muster-code.json",
        "code__files": files,
        "code__tree": sha256(str(sorted(files.items())).encode()).hexdigest(),
    }


NAMES = [f"m{number:04}.py" for number in range(LISTED_FILES)]


FAIL, BOTH = {"node1": "fail"}, {"node0": "fail", "node1": "fail"}
CASES = [
    case_of("code", "another commit", FAIL, {}, OTHER_COMMIT, {}, launch=TYPED),
    case_of(
        "code",
        "another branch, and a detached head, which is none",
        FAIL,
        {},
        {"code__branch": "wip"},
        {"code__branch": None},
    ),
    case_of("code", "changes on one node", FAIL, {}, DIRTY, {}),
    case_of("code", "changes of named files on one node", FAIL, {}, CHANGED, {}),
    case_of("code", "other changes than on the peers", FAIL, PEER, CHANGED, PEER),
    case_of("code", "no changes where the peers have some", FAIL, PEER, {}, PEER),
    case_of(
        "code",
        "changes that cannot be compared",
        {"node0": "warn", "node1": "warn"},
        UNCOMPARED,
        UNCOMPARED,
        launch=TYPED,
    ),
    case_of(
        "code",
        "another commit, branch and changes are one fault",
        FAIL,
        {},
        {**OTHER_COMMIT, "code__branch": "wip", **DIRTY},
        {},
    ),
    case_of("code", "not the profile's commit", BOTH, {}, {}, expected={"commit": "b" * 8}),
    case_of(
        "code",
        "a branch whose name begins like the profile's",
        BOTH,
        *[{"code__branch": "release-2"}] * 2,
        expected={"branch": "release"},
    ),
    case_of(
        "code",
        "another commit that git did not check out",
        FAIL,
        MARKED,
        {**MARKED, **OTHER_COMMIT},
        MARKED,
        launch=TYPED,
    ),
    case_of("code", "no checkout where the peers have one", FAIL, {}, NONE, {}),
    case_of("code", "a checkout where the peers have none", FAIL, NONE, {}, NONE),
    case_of("code", "no checkout, and a profile", FAIL, {}, NONE, expected={"commit": "a" * 8}),
    case_of("code", "an edited file of a copy", FAIL, tree(parts="1"), tree(parts="2"), tree(parts="1"), launch=TYPED),
    case_of(
        "code",
        "files that only some copies have",
        FAIL,
        tree(a="1"),
        tree("b.py", "c.py", "d.py", "e\n.py"),
        tree(a="1"),
    ),
    case_of("code", "a list that was cut lacks no files", FAIL, tree(*NAMES), tree("a.py", *NAMES[:-1])),
    case_of(
        "code",
        "a difference beyond the list that was cut",
        FAIL,
        tree(*NAMES),
        {"code__tree": "another", "code__files": dict.fromkeys(NAMES, "0")},
    ),
    case_of("code", "an edited file without a commit", FAIL, {**NONE, **tree(a="1")}, {**NONE, **tree(a="2")}),
    case_of("code", "files that cannot be compared", {"node0": "warn"}, LARGE, {**NONE, **tree(a="1")}),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_difference_is_found_on_the_odd_node(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param([DIRTY, DIRTY], id="the same changes"),
        pytest.param([UNCOMPARED], id="changes of the only node"),
        pytest.param([LARGE], id="files of the only node"),
        pytest.param([NONE, NONE], id="no checkout"),
        pytest.param([tree(parts="1"), tree(parts="1")], id="the same files"),
        pytest.param([{}, {**NONE, "code__why": "git is not installed"}, {}], id="not readable"),
        pytest.param([{}, {"code__dirty": None, "code__why": "it took too long"}, {}], id="changes not readable"),
        pytest.param([{}, {**NONE, "code__exists": False}, {}], id="no code"),
    ],
)
def test_what_is_the_same_or_not_known_is_no_difference(nodes: list[dict[str, Any]]) -> None:
    assert check_code(cluster(*nodes)) == []


def test_the_profile_may_name_a_short_commit() -> None:
    assert check_code(cluster({}, {}), expected={"commit": "a" * 8, "branch": "main"}) == []


# The copies are alike in what git does not know of only if their files are the same.
COPIES = cluster(tree(a="1"), tree(a="2"), {**NONE, **tree(a="1")}, DIRTY, {"code__uncompared": "too large"})
STATES = [state(node.code) for node in COPIES.values() if node.code]


def test_nodes_agree_in_changes_only_if_their_files_are_the_same() -> None:
    assert len(set(STATES)) == len(COPIES)
    assert STATES[-1] is None
    again = facts(7, **tree(a="1")).code
    assert again is not None
    assert state(again) == STATES[0]
