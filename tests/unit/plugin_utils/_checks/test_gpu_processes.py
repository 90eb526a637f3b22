# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other processes on the ranks' GPUs: in preflight, and in a launch, which only warns of them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.gpu_processes import gpu_processes
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Cluster, Outcome
from ansible_collections.muster.train.plugins.plugin_utils._checks.variables import read_checks
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, lines
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_NODE_ENV
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.plan_parts import node, policy, refusal, request
from ansible_collections.muster.train.tests.support.preflight_parts import facts_of

RUN = "multinode_1ch_1th_20261101_000000"
UID = 1000


def using(pid: int, uid: int | None = 7, command: str | None = "python", **more: Any) -> dict[str, Any]:
    return {"pid": pid, "uid": uid, "command": command, "run_id": None, "device": None, **more}


def judged(*processes: dict[str, Any], env: dict[str, str] | None = None, **parts: Any) -> Outcome:
    """Judge a recorded machine with eight GPUs on which these processes compute."""
    facts = facts_of("hgx_h100_roce", 0)
    facts["node"].update(gpu_processes=list(processes), user={"name": "ann", "uid": UID, "home": "/h"}, **parts)
    machine = Node.from_facts("node0", facts, layers=[(env or {}, LAUNCH_NODE_ENV)])
    result = gpu_processes(machine, Cluster({"node0": machine}))
    assert isinstance(result, Outcome)
    return result


def address(index: int) -> str:
    """Return the PCI address of a GPU of the recorded machine."""
    return str(facts_of("hgx_h100_roce", 0)["gpu"]["devices"][index]["pci_address"])


def test_processes_are_counted_by_user() -> None:
    outcome = judged(
        using(1, device=address(0)), using(1, device=address(1)), using(2), using(3, UID), using(4, None, None)
    )
    expected = "1 process of an unknown user, 1 process of this user (python), 2 processes of uid 7 (python)"
    assert (outcome.status, outcome.observed.partition(": ")[2]) == ("fail", expected)


def test_another_run_of_this_user_is_named_once() -> None:
    mine = using(5, UID, run_id=RUN)
    assert judged(mine, processes=None).observed.endswith(f"1 process of run {RUN}")
    # What the checks `slot` and `leftovers` name.
    assert judged(mine, processes=None, holder={"run_id": RUN}).status == "pass"
    assert judged(mine, processes={"runs": [mine]}).status == "pass"
    # Root reads the mark of another user's run, which `leftovers` does not name.
    assert judged({**mine, "uid": 7}, processes={"runs": [mine]}).status == "fail"


@pytest.mark.parametrize(
    ("chosen", "status"),
    [("0,1", "pass"), ("0,2", "fail"), ("GPU-of-nobody", "fail"), ("", "fail")],
)
def test_gpus_that_the_ranks_do_not_see_do_not_count(chosen: str, status: str) -> None:
    assert judged(using(1, device=address(2)), env={"CUDA_VISIBLE_DEVICES": chosen}).status == status
    # Which of AMD's GPUs a process uses is not known.
    assert judged(using(1, device="/dev/kfd"), env={"CUDA_VISIBLE_DEVICES": chosen}).status == "fail"


def test_programs_of_the_desktop_are_allowed_until_the_inventory_lists_others() -> None:
    assert judged(using(1, 0, "Xorg")).status == "pass"
    checks, _refused = read_checks({"preflight_allowed_processes": ["python"]})
    assert checks.allowed_processes == ("python",)
    assert read_checks({"preflight_allowed_processes": []})[0].allowed_processes == ()


def shared(number: int) -> Node:
    gpu = {"vendor": "nvidia", "count": 8}
    return node(number, gpu=gpu, gpu_processes=[using(40 + number, 7), using(50 + number, 7)])


def test_a_launch_warns_once_of_what_is_alike_on_all_nodes() -> None:
    findings = make_plan(request(2), policy(), [shared(0), shared(1)])["findings"]
    [text] = lines(Finding(**finding) for finding in findings if finding["check"] == "gpu processes")
    assert text.startswith(
        "node0 and node1: gpu processes: other processes use the GPUs of the ranks: 2 processes of uid 7"
    )
    assert [finding["status"] for finding in findings if finding["check"] == "gpu processes"] == ["warn", "warn"]


def test_a_level_that_users_set_holds_in_a_launch() -> None:
    strict, _refused = read_checks({"preflight_levels": {"gpu_processes": "fail"}})
    [line] = refusal(request(2), policy(), [shared(0), shared(1)], strict)
    assert line.startswith("node0 and node1: gpu processes: ")
    off, _refused = read_checks({"preflight_levels": {"gpu_processes": "off"}})
    findings = make_plan(request(2), policy(), [shared(0), shared(1)], checks=off)["findings"]
    assert "gpu processes" not in [finding["check"] for finding in findings]
