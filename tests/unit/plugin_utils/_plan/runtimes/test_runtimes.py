# SPDX-License-Identifier: GPL-3.0-or-later
"""The runtime docker in a plan: paths and ranks as on the host, the interpreter and its packages the image's."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import (
    NO_GPU,
    NONCE,
    POLICY,
    RUN_ID,
    facts_dict,
    nodes,
    policy,
    request,
)

ASKED = POLICY["launch_compose_file"]
FILE = {"path": "/home/ann/muster/container/compose.yaml", "exists": True, "readable": True, "sha256": "3" * 64}
DOCKER = ["sudo", "-n", "docker"]
WITH_FILE: dict[str, Any] = {"files": {**facts_dict(0)["files"], ASKED: FILE}}


def plan(**changes: Any) -> dict[str, Any]:
    """A plan of two nodes with the runtime docker; a change is one of the nodes' facts."""
    return make_plan(request(2), policy(runtime="docker", docker=DOCKER), nodes(2, **{**WITH_FILE, **changes}))


def test_the_job_has_its_container() -> None:
    job = plan()["jobs"]["node1"]
    run_dir = f"/home/ann/muster/.muster/nodes/node1/runs/{RUN_ID}"
    assert job["container"] == {
        "docker": DOCKER,
        "file": "/home/ann/muster/container/compose.yaml",
        "service": "train",
        "name": f"muster-{RUN_ID}-1",
        "python": "python3",
        "labels": {
            "muster.run_id": RUN_ID,
            "muster.node": "node1",
            "muster.nonce": NONCE,
            "muster.run_dir": run_dir,
            "muster.workdir": "/home/ann/muster",
        },
        "mounts": [],
    }
    assert (job["runtime"], job["starter"], job["starter_reason"]) == ("docker", "docker", "launch_runtime")
    assert job["argv"][:2] == ["python3", f"{run_dir}/torchrun.py"]
    assert job["starter_fallback"] is None


def test_the_nodes_own_python_and_torch_say_nothing() -> None:
    without: dict[str, Any] = {"python": "3.11.2", "torch": None, "site_packages": ["/usr/lib/python3"], "sources": {}}
    assert plan(python={"command": "python3", "path": None}, versions=without)["findings"] == []


def without_file() -> list[Finding]:
    """What is found where the nodes lack the compose file."""
    with pytest.raises(PlanError) as caught:
        plan(files={**facts_dict(0)["files"], ASKED: {**FILE, "exists": False, "readable": False}})
    return caught.value.findings


CASES = [Case("no compose file", without_file, [("compose file", "node0", "fail"), ("compose file", "node1", "fail")])]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_without_its_compose_file_no_launch(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


def with_topology(source: str | None) -> dict[str, Any]:
    return {**NO_GPU, "topology_file": {"path": "/opt/topo.xml", "source": source}}


@pytest.mark.parametrize("source", ["/etc/nccl.conf", None], ids=["named", "known to NCCL"])
def test_every_container_gets_the_topology_file_of_its_vm(source: str | None) -> None:
    made = plan(gpu=with_topology(source))
    assert [job["container"]["mounts"] for job in made["jobs"].values()] == [["/opt/topo.xml"]] * 2


def test_docker_is_called_by_at_least_one_word() -> None:
    with pytest.raises(PlanError) as caught:
        policy(runtime="docker", docker=[])
    assert outcomes(caught.value.findings) == [("launch_docker", None, "fail")]
