# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Kubernetes cluster of two nodes: launches in the pods of a StatefulSet, their ends, and other shells."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.tests.support import k8s_lab
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.k8s_lab import Lab
from ansible_collections.muster.train.tests.support.play import Played
from ansible_collections.muster.train.tests.support.pod_nodes import NAME, PodNodes

pytestmark = [
    pytest.mark.k8s,
    pytest.mark.skipif(k8s_lab.missing() is not None, reason=str(k8s_lab.missing())),
]
# One rank on each pod without torchrun, where a test is not about the ranks.
LIGHT: dict[str, Any] = {"launcher": "python", "nproc": 1}
LONG: dict[str, Any] = {"script_args": ["--seconds", "120"]}
NODES = [f"{NAME}-0", f"{NAME}-1"]


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


def test_stop_leaves_the_pods_without_a_rank(pods: PodNodes) -> None:
    assert pods.launch(**LONG).rc == 0
    stopped = pods.verb("stop", run_id=RUN_ID)
    assert stopped.rc == 0, stopped.out
    assert {pods.state(name)["phase"] for name in NODES} == {"stopped"}
    assert pods.processes() == []
    assert pods.ready() == NODES
    # An init reaps what is left of the run.
    assert all("defunct" not in pods.inside(name, "ps", "-e") for name in NODES)


def test_a_rank_that_fails_stops_all_pods(pods: PodNodes) -> None:
    done = pods.launch(follow=True, script_args=["--seconds", "60", "--fail-rank", "3", "--how", "exit7"])
    assert done.rc != 0
    record = pods.record()
    assert (record["verdict"], record["cause"]["node"], record["cause"]["rank"]) == ("failed", NODES[1], 3)
    assert pods.processes() == []


def test_the_command_of_shell_enters_the_pod(pods: PodNodes) -> None:
    asked = json.dumps({"output": "json", "run_id": RUN_ID, "node": NODES[1]})
    assert pods.launch(**LIGHT, follow=True).rc == 0
    answer = json.loads(pods.play("playbooks/shell.yml", "-e", asked, apart=True).out)
    login = [f"--kubeconfig={pods.lab.kubeconfig}", f"--namespace={pods.namespace}"]
    begin = ["kubectl", *login, "exec", "--stdin", "--tty", NODES[1], "--"]
    assert answer["argv"][: len(begin)] == begin
    assert pods.inside(NODES[1], *answer["argv"][len(begin) : -1], "hostname").strip() == NODES[1]


def test_code_comes_to_pods_without_rsync(pods: PodNodes, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "package").mkdir(parents=True)
    for number in range(500):
        (source / "package" / f"module{number}.py").write_text(f"NUMBER = {number}\n")
    (source / "sleeper.py").write_text((WORKLOADS / "sleeper.py").read_text())
    code = {
        "code_source": "rsync",
        "code_rsync_path": str(source),
        "code_rsync_excludes": ["*.pt"],
        "code_rsync_delete": True,
        "launch_code_dir": f"{pods.workdir}/code",
    }

    def set_up(*options: str) -> Played:
        done = pods.play("playbooks/setup.yml", "--tags", "code", "-e", json.dumps(code), *options)
        assert done.rc == 0, done.out
        return done

    first = set_up()
    assert [first.changed[name] for name in NODES] == [3, 3], first.out
    second = set_up()
    assert [second.changed[name] for name in NODES] == [0, 0], second.out

    pods.inside(NODES[0], "touch", f"{pods.workdir}/code/kept.pt")
    (source / "package" / "module7.py").write_text("NUMBER = 8\n")
    (source / "package" / "module8.py").unlink()
    predicted = set_up("--check", "--diff")
    assert "(archive)\nchanged  package/module7.py\nremoved  package/module8.py\n" in predicted.out, predicted.out
    launched = pods.launch(sync=True, follow=True, script_args=["--seconds", "1"], **LIGHT, **code)
    assert launched.rc == 0, launched.out
    for name in NODES:
        show = f"cd {pods.workdir}/code/package && cat module7.py && ls | wc -l"
        assert pods.inside(name, "sh", "-c", show).split() == ["NUMBER", "=", "8", "499"]
    assert pods.inside(NODES[0], "ls", f"{pods.workdir}/code/kept.pt")


def test_a_deleted_pod_ends_the_run_with_its_name(pods: PodNodes) -> None:
    pods.policy["launch_lost_after"] = 6
    pods.write()
    assert pods.launch(**LIGHT, **LONG).rc == 0
    pods.lab.kubectl("delete", "pod", NODES[1], "-n", pods.namespace, "--grace-period=0", "--force")
    wait_for(lambda: pods.state(NODES[0])["phase"] in ENDED, "the head has ended", 60)
    pods.await_pods()
    wait_for(lambda: pods.processes() == [], "no process is left")
    pods.verb("collect", run_id=RUN_ID)
    assert pods.record()["verdict"] == "lost"
    assert NODES[1] in pods.record()["why"]
    # The replacement has another address, the name and the volume are the same.
    again = pods.launch(follow=True, **LIGHT)
    assert again.rc == 0, again.out
    assert pods.record()["verdict"] == "succeeded"


def test_the_api_server_may_be_away(pods: PodNodes) -> None:
    assert pods.launch(**LIGHT, script_args=["--seconds", "20"]).rc == 0
    pods.lab.signal("api-server", signal.SIGSTOP)
    try:
        pods.wait_phase(RUN_ID, "succeeded")
    finally:
        pods.lab.signal("api-server", signal.SIGCONT)
    assert pods.verb("collect", run_id=RUN_ID).rc == 0
    assert pods.record()["verdict"] == "succeeded"
