# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Kubernetes cluster of two nodes: launches in the pods of a StatefulSet, and other shells."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import k8s_lab
from ansible_collections.muster.train.tests.support.cluster import RUN_ID
from ansible_collections.muster.train.tests.support.k8s_lab import Lab
from ansible_collections.muster.train.tests.support.pod_nodes import NAME, PodNodes

pytestmark = [
    pytest.mark.k8s,
    pytest.mark.skipif(k8s_lab.missing() is not None, reason=str(k8s_lab.missing())),
]
# One rank on each pod without torchrun, where a test is not about the ranks.
LIGHT: dict[str, Any] = {"launcher": "python", "nproc": 1}
NODES = [f"{NAME}-0", f"{NAME}-1"]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A Kubernetes cluster for the tests of this file."""
    with tempfile.TemporaryDirectory(prefix="muster-") as base, k8s_lab.running(Path(base)) as started:
        yield started


@pytest.fixture(scope="module")
def deployed(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> PodNodes:
    """Two pods, which a test that needs none of its own leaves as they are."""
    made = PodNodes(tmp_path_factory.mktemp("pods"), lab=lab, namespace="training")
    made.deploy()
    return made


@pytest.fixture
def pods(deployed: PodNodes, tmp_path: Path) -> Iterator[PodNodes]:
    """These pods, with a work directory of the test's own on their volumes."""
    deployed.await_pods()
    made = PodNodes(tmp_path, lab=deployed.lab, namespace=deployed.namespace, test=tmp_path.name)
    yield made
    made.destroy()


def test_two_ranks_on_each_of_two_pods_train_and_are_collected(pods: PodNodes) -> None:
    done = pods.launch(follow=True, script="/example/train.py", script_args=["--override", "training.steps=8"])
    assert done.rc == 0, done.out
    plan = pods.plan()
    assert (plan["nodes"], plan["world_size"]) == (NODES, 4)
    assert {job["starter"] for job in plan["jobs"].values()} == {"setsid"}
    assert {job["rendezvous"]["address"] for job in plan["jobs"].values()} == {pods.address(NODES[0])}
    assert pods.record()["verdict"] == "succeeded"
    assert pods.record()["exit_codes"] == dict.fromkeys(NODES, 0)
    assert pods.processes() == []
    collected = pods.experiments / RUN_ID
    assert {path.name for path in collected.rglob("rank_*_metrics.jsonl")} == {
        f"rank_{rank:02d}_metrics.jsonl" for rank in range(4)
    }


def test_a_run_outlives_the_shell_that_launched_it(pods: PodNodes) -> None:
    shell = pods.begin("launch", follow=True, **LIGHT, script_args=["--seconds", "30"])
    pods.wait_phase(RUN_ID, "running")
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    status = pods.verb("status", run_id=RUN_ID)
    assert status.rc == 0, status.out
    assert all(re.search(rf"^{name} .*running", status.out, re.MULTILINE) for name in NODES), status.out
    logs = pods.verb("logs", run_id=RUN_ID, lines=50)
    assert f"{NODES[1]}/rank1 | rank 1 of 2 begins" in logs.out
    followed = pods.verb("follow", run_id=RUN_ID)
    assert followed.rc == 0, followed.out
    assert pods.record()["verdict"] == "succeeded"
