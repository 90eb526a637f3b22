# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks inside a launch: by the same levels and profile as preflight's."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.policy import CheckPolicy
from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import NAMES
from ansible_collections.muster.train.plugins.plugin_utils._checks.variables import read_checks
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.plan_parts import node, nodes, policy, refusal, request
from ansible_collections.muster.train.tests.support.sources import ROOT


def checks(**settings: Any) -> CheckPolicy:
    parsed, refused = read_checks({f"preflight_{name}": value for name, value in settings.items()})
    if refused:
        raise PlanError(refused)
    return parsed


def outcomes(of: CheckPolicy, on: list[Any]) -> list[tuple[str, str, str]]:
    findings = make_plan(request(), policy(), on, checks=of)["findings"]
    return [(finding["check"], finding["node"], finding["status"]) for finding in findings]


def test_another_commit_stops_a_launch_with_the_command_that_fixes_it() -> None:
    [line] = refusal(request(), policy(), [node(0), node(1, code__commit="b" * 40)])
    assert line.startswith(
        "node1: code: commit bbbbbbbbbbbb; expected one commit on every node, aaaaaaaaaaaa as on node0"
    )
    assert f"ansible node1 -m ansible.builtin.command -a 'git -C /home/ann/code checkout {'a' * 40}'" in line


@pytest.mark.parametrize(("level", "status"), [("warn", "warn"), ("off", None)])
def test_levels_hold_in_a_launch(level: str, status: str | None) -> None:
    odd = [node(0), node(1, code__commit="b" * 40)]
    assert outcomes(checks(levels={"code": level}), odd) == ([("code", "node1", status)] if status else [])


def test_levels_hold_for_what_the_plan_finds_itself() -> None:
    held = [node(0), node(1, python={"command": "python3", "path": None})]
    with pytest.raises(PlanError, match="python3 was not found"):
        make_plan(request(), policy(), held)
    assert outcomes(checks(levels={"python_interpreter": "warn"}), held) == [("python interpreter", "node1", "warn")]


@pytest.mark.parametrize(("level", "statuses"), [({}, ["warn"]), ({"rdma_ports": "off"}, [])])
def test_levels_hold_for_the_environments_rules(level: dict[str, str], statuses: list[str]) -> None:
    without_rdma = [node(number, gpu=None, limits=None, memlock=None) for number in range(2)]
    findings = make_plan(request(nproc=1), policy(), without_rdma, checks=checks(levels=level))["findings"]
    assert [finding["status"] for finding in findings if finding["node"] == "node0"] == statuses


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
    others = {"facts", "launcher", "nodes", "nproc", "outputs", "spares", "file", "host key", "run"}
    assert called_names() - set(NAMES) == others


def test_the_profile_holds_in_a_launch() -> None:
    assert [line.split(": ")[1] for line in refusal(request(), policy(), nodes(2), checks(expected={"gpus": 8}))] == [
        "gpu count"
    ]


def test_unreadable_code_is_a_warning_in_a_launch() -> None:
    closed = node(1, code__commit=None, code__dirty=None, code__why="git is not installed")
    assert outcomes(checks(), [node(0), closed]) == [("code", "node1", "warn")]
    assert outcomes(checks(levels={"code": "off"}), [node(0), closed]) == []


def test_a_terabyte_is_enough_whatever_the_percentage() -> None:
    disks = [{"path": "/home/ann/muster", "mount_point": "/home", "size_bytes": 20 * 10**12, "free_bytes": 9 * 10**11}]
    assert outcomes(checks(), [node(0), node(1, disks=disks)]) == []


def test_a_small_tmpfs_on_tmp_is_enough() -> None:
    disks = [{"path": "/tmp", "mount_point": "/tmp", "size_bytes": 64 << 20, "free_bytes": 60 << 20}]
    assert outcomes(checks(), [node(0), node(1, disks=disks)]) == []
    [line] = refusal(request(), policy(), [node(0), node(1, disks=[{**disks[0], "is_workdir": True}])])
    assert "expected at least 0.25 GiB free" in line


def test_a_full_disk_stops_a_launch() -> None:
    disks = [
        {
            "path": "/home/ann/muster",
            "mount_point": "/home",
            "size_bytes": 10**12,
            "free_bytes": 10**9,
            "is_workdir": True,
        }
    ]
    [line] = refusal(request(), policy(), [node(0), node(1, disks=disks)])
    assert line.startswith("node1: disks: /home/ann/muster (/home) is 100 % full, 0.9 GiB free; expected below 95 %")
    assert outcomes(checks(disk_fail=100), [node(0), node(1, disks=disks)]) == [("disks", "node1", "warn")]


def test_an_unavailable_check_stops_no_launch() -> None:
    unknown = [node(number, gpu=None, limits=None, memlock=None) for number in range(2)]
    findings = make_plan(request(nproc=1), policy(), unknown)["findings"]
    assert {finding["check"] for finding in findings} == {"rdma ports"}  # that there is no RDMA, which is known


def test_an_invalid_policy_is_refused() -> None:
    with pytest.raises(PlanError, match="there is no check 'clok'; did you mean 'clock'"):
        checks(levels={"clok": "warn"})
    with pytest.raises(PlanError, match="there is no property 'gpu'"):
        checks(expected={"gpu": 8})
    with pytest.raises(PlanError, match="preflight_disk_fail: it is 'full'"):
        checks(disk_fail="full")
