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
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import node, policy, refused, request
from ansible_collections.muster.train.tests.support.preflight_parts import facts_of

CHECK = "gpu processes"
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


def finding_of(outcome: Outcome) -> Finding:
    return Finding(CHECK, "node0", **vars(outcome))


def address(index: int) -> str:
    """Return the PCI address of a GPU of the recorded machine."""
    return str(facts_of("hgx_h100_roce", 0)["gpu"]["devices"][index]["pci_address"])


BY_USER = [
    *(using(1, device=address(0)), using(1, device=address(1)), using(2)),
    *(using(3, UID), using(4, None, None)),
]


MINE = using(5, UID, run_id=RUN)


def shared(number: int) -> Node:
    gpu = {"vendor": "nvidia", "count": 8}
    return node(number, gpu=gpu, gpu_processes=[using(40 + number, 7), using(50 + number, 7)])


def planned(**options: Any) -> list[Finding]:
    """What a launch on two nodes, whose GPUs another user's processes use, finds of that."""
    plan = make_plan(request(2), policy(), [shared(0), shared(1)], **options)
    return [Finding(**finding) for finding in plan["findings"] if finding["check"] == CHECK]


CASES = [
    Case("processes of several users", lambda: [finding_of(judged(*BY_USER))], [(CHECK, "node0", "fail")]),
    Case("another run of this user", lambda: [finding_of(judged(MINE, processes=None))], [(CHECK, "node0", "fail")]),
    Case("a launch on GPUs that others use", planned, [(CHECK, "node0", "warn"), (CHECK, "node1", "warn")]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_processes_of_others_are_found(case: Case) -> None:
    findings = case.find()
    assert outcomes(findings) == case.outcomes
    assert len(lines(findings)) == 1, "what is alike on all nodes is one line"


def test_another_run_of_this_user_is_found_once() -> None:
    # What the checks `slot` and `leftovers` name.
    assert judged(MINE, processes=None, holder={"run_id": RUN}).status == "pass"
    assert judged(MINE, processes={"runs": [MINE]}).status == "pass"
    # Root reads the mark of another user's run, which `leftovers` does not name.
    assert judged({**MINE, "uid": 7}, processes={"runs": [MINE]}).status == "fail"


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


def test_a_level_that_users_set_holds_in_a_launch() -> None:
    strict, _refused = read_checks({"preflight_levels": {"gpu_processes": "fail"}})
    findings = refused(request(2), policy(), [shared(0), shared(1)], strict)
    assert outcomes(findings) == [(CHECK, "node0", "fail"), (CHECK, "node1", "fail")]
    off, _refused = read_checks({"preflight_levels": {"gpu_processes": "off"}})
    assert planned(checks=off) == []
