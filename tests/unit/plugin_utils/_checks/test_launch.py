# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks inside a launch: by the same levels and profile as preflight's."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.policy import CheckPolicy
from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import NAMES
from ansible_collections.muster.train.plugins.plugin_utils._checks.variables import read_checks
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError, lines
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import node, nodes, policy, refused, request
from ansible_collections.muster.train.tests.support.sources import ROOT


def checks(**settings: Any) -> CheckPolicy:
    parsed, invalid = read_checks({f"preflight_{name}": value for name, value in settings.items()})
    if invalid:
        raise PlanError(invalid)
    return parsed


def planned(of: CheckPolicy, on: list[Node], **asked: Any) -> list[Finding]:
    """What a launch that is planned finds."""
    return [Finding(**finding) for finding in make_plan(request(**asked), policy(), on, checks=of)["findings"]]


FULL = {
    "path": "/home/ann/muster",
    "mount_point": "/home",
    "size_bytes": 10**12,
    "free_bytes": 10**9,
    "is_workdir": True,
}
SMALL = {"path": "/tmp", "mount_point": "/tmp", "size_bytes": 64 << 20, "free_bytes": 60 << 20}
ODD = [node(0), node(1, code__commit="b" * 40)]
NO_PYTHON = [node(0), node(1, python={"command": "python3", "path": None})]
FULL_DISK = [node(0), node(1, disks=[FULL])]
SMALL_DISK = [node(0), node(1, disks=[{**SMALL, "is_workdir": True}])]


def stopped(name: str, check: str, on: list[Node], **settings: Any) -> Case:
    """A case in which a check on the second node stops the launch."""
    return Case(name, lambda: refused(request(), policy(), on, checks(**settings)), [(check, "node1", "fail")])


CASES = [
    stopped("another commit stops a launch", "code", ODD),
    stopped("no interpreter stops a launch", "python interpreter", NO_PYTHON),
    stopped("a full disk stops a launch", "disks", FULL_DISK),
    stopped("a small file system of the work directory stops a launch", "disks", SMALL_DISK),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_check_stops_a_launch(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


@pytest.mark.parametrize(("level", "status"), [("warn", "warn"), ("off", None)])
def test_levels_hold_in_a_launch(level: str, status: str | None) -> None:
    findings = planned(checks(levels={"code": level}), ODD)
    assert outcomes(findings) == ([("code", "node1", status)] if status else [])


def test_levels_hold_for_what_the_plan_finds_itself() -> None:
    findings = planned(checks(levels={"python_interpreter": "warn"}), NO_PYTHON)
    assert outcomes(findings) == [("python interpreter", "node1", "warn")]


@pytest.mark.parametrize(("level", "statuses"), [({}, ["warn"]), ({"rdma_ports": "off"}, [])])
def test_levels_hold_for_the_environments_rules(level: dict[str, str], statuses: list[str]) -> None:
    without_rdma = [node(number, gpu=None, limits=None, memlock=None) for number in range(2)]
    findings = planned(checks(levels=level), without_rdma, nproc=1)
    assert [finding.status for finding in findings if finding.node == "node0"] == statuses


def called_names() -> set[str]:
    """The names that findings get in the code, as far as they are literals."""
    names = set()
    for path in (ROOT / "plugins").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Finding":
                named = [item.value for item in call.keywords if item.arg == "check"]
                names |= {str(item.value) for item in (*call.args[:1], *named) if isinstance(item, ast.Constant)}
    return names


def test_a_finding_has_the_name_of_its_check() -> None:
    # No check is made of these: facts that the plan lacks, parameters, groups and directories that are refused, what
    # discover meets.
    others = {"facts", "launcher", "nodes", "nproc", "outputs", "profile_ranks", "spares", "file", "host key", "run"}
    others |= {"backend", "max_bytes", "scope"}  # parameters of a benchmark and of pairs
    assert called_names() - set(NAMES) == others


def test_the_profile_holds_in_a_launch() -> None:
    findings = refused(request(), policy(), nodes(2), checks(expected={"gpus": 8}))
    assert {finding.check for finding in findings} == {"gpu count"}
    assert len(lines(findings)) == 1


def test_unreadable_code_is_a_warning_in_a_launch() -> None:
    closed = node(1, code__commit=None, code__dirty=None, code__why="git is not installed")
    assert outcomes(planned(checks(), [node(0), closed])) == [("code", "node1", "warn")]
    assert planned(checks(levels={"code": "off"}), [node(0), closed]) == []


def test_a_terabyte_is_enough_whatever_the_percentage() -> None:
    disks = [{"path": "/home/ann/muster", "mount_point": "/home", "size_bytes": 20 * 10**12, "free_bytes": 9 * 10**11}]
    assert planned(checks(), [node(0), node(1, disks=disks)]) == []


def test_a_small_tmpfs_on_tmp_is_enough() -> None:
    assert planned(checks(), [node(0), node(1, disks=[SMALL])]) == []


def test_a_threshold_holds_in_a_launch() -> None:
    assert outcomes(planned(checks(disk_fail=100), FULL_DISK)) == [("disks", "node1", "warn")]


def test_an_unavailable_check_stops_no_launch() -> None:
    unknown = [node(number, gpu=None, limits=None, memlock=None) for number in range(2)]
    assert {finding.check for finding in planned(checks(), unknown, nproc=1)} == {
        "rdma ports"
    }  # that there is no RDMA, which is known
