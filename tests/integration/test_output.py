# SPDX-License-Identifier: GPL-3.0-or-later
"""-e output=json of every verb: the standard output is one document that its schema describes, however it ends."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.support import documents, sshd
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import ROOT, Played, run_to_end, search_path

FAILED = "multinode_42ch_autoth_20261120_143052_failed"
STRANGER = "multinode_1ch_64th_20200101_000000"
CALLBACKS = ("ansible.builtin.default", "ansible.builtin.minimal", "ansible.builtin.oneline")


@dataclass
class Answer:
    """What a verb printed on its standard output, line by line, and its exit code."""

    rc: int
    lines: list[dict[str, Any]]
    err: str

    @property
    def document(self) -> dict[str, Any]:
        return self.lines[-1]

    @property
    def messages(self) -> list[str]:
        return [error["message"] for error in self.document["errors"]]


def ask(cluster: Cluster, verb: str, *extra: str, callback: str = CALLBACKS[0], **parameters: Any) -> Answer:
    """Run a verb; whatever it prints on the standard output must be what the schemas describe."""
    parameters = {"output": "json", **parameters}
    words = (f"playbooks/{verb}.yml", "-e", json.dumps(parameters), *extra)
    ended = cluster.play(*words, apart=True, ANSIBLE_STDOUT_CALLBACK=callback)
    lines = list(map(json.loads, ended.out.splitlines() if parameters["output"] == "jsonl" else [ended.out]))
    assert [error for line in lines for error in documents.errors(line)] == []
    answer = Answer(ended.rc, lines, ended.err)
    assert (answer.document["verb"], answer.document["failed"]) == (verb, ended.rc != 0), ended.err
    assert answer.document["errors"] or not answer.document["failed"]
    return answer


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Answer, Answer]]:
    """A cluster with a run that succeeded and one that failed, and what their launches printed."""
    cluster = Cluster(tmp_path_factory.mktemp("output"))
    try:
        succeeded = ask(cluster, "launch", run_id=RUN_ID, output="jsonl", script_args=["--seconds", "3"])
        failed = ask(cluster, "launch", run_id=FAILED, script_args=["--fail-rank", "1", "--how", "exit7"])
        yield cluster, succeeded, failed
    finally:
        cluster.destroy()


@pytest.mark.gate
def test_a_launch_prints_samples_and_its_verdict(ended: tuple[Cluster, Answer, Answer]) -> None:
    _cluster, launched, _failed = ended
    *samples, document = launched.lines
    assert launched.rc == 0
    assert {sample["event"] for sample in samples} == {"sample"}
    steps = [sample["progress"]["step"] for sample in samples if sample["progress"]]
    # The last step may be seen twice: before the run has ended, and after it.
    assert steps == sorted(steps)
    assert len({*steps}) >= 2
    assert samples[-1]["verdict"] == document["verdict"]["verdict"] == "succeeded"
    assert document["verdict"]["exit_codes"] == {"node0": 0, "node1": 0}
    assert [(node["node"], node["phase"], node["attempt"]) for node in document["nodes"]] == [
        ("node0", "succeeded", 1),
        ("node1", "succeeded", 1),
    ]
    assert "PLAY [Launch the run]" in launched.err, "what people read is printed beside it"


def test_a_launch_that_fails(ended: tuple[Cluster, Answer, Answer]) -> None:
    _cluster, _succeeded, failed = ended
    assert failed.rc == 2
    assert failed.document["verdict"]["cause"]["exit_code"] == 7
    (error,) = failed.document["errors"]
    assert (error["node"], error["expected"]) == ("node1", "succeeded")
    assert error["message"] == f"{FAILED} failed: node1: rank 1 exited with code 7"


@pytest.mark.gate
def test_the_verbs_on_a_run_that_has_ended(ended: tuple[Cluster, Answer, Answer]) -> None:
    cluster, _succeeded, _failed = ended
    for verb in ("status", "stop", "collect", "follow"):
        answer = ask(cluster, verb, run_id=RUN_ID)
        assert (answer.rc, answer.document["run_id"]) == (0, RUN_ID), answer.err
        assert answer.document["verdict"]["verdict"] == "succeeded"
        assert answer.document["world_size"] == 2
    assert ask(cluster, "collect", run_id=FAILED).document["verdict"]["verdict"] == "failed"
    logs = ask(cluster, "logs", run_id=RUN_ID, rank=1, lines=1)
    (line,) = logs.document["lines"]
    assert (line["node"], line["rank"], line["text"]) == ("node1", 1, "rank 1 ends")
    shell = ask(cluster, "shell", run_id=RUN_ID, rank=1)
    assert (shell.rc, shell.document["node"]) == (0, "node1")
    stacks = ask(cluster, "stacks", run_id=RUN_ID)
    assert (stacks.rc, stacks.document["run_id"], stacks.document["ranks"]) == (2, RUN_ID, [])
    assert stacks.messages[-1].startswith(f"{RUN_ID} succeeded: only living processes have stacks; ")
    listed = ask(cluster, "list").document["experiments"]
    assert {(entry["run_id"], entry["verdict"]) for entry in listed} == {(RUN_ID, "succeeded"), (FAILED, "failed")}


def test_a_run_that_does_not_exist(ended: tuple[Cluster, Answer, Answer]) -> None:
    cluster, _succeeded, _failed = ended
    for verb in ("status", "logs", "stacks", "shell", "follow", "stop", "collect"):
        answer = ask(cluster, verb, run_id=STRANGER, **({"rank": "0"} if verb == "shell" else {}))
        assert answer.rc == 2
        (message,) = answer.messages
        assert STRANGER in message
        assert answer.document["run_id"] is None


@pytest.mark.parametrize("verb", [name for name in documents.names() if name not in ("setup", documents.SAMPLE)])
def test_a_refused_request(ended: tuple[Cluster, Answer, Answer], verb: str) -> None:
    cluster, _succeeded, _failed = ended
    answer = ask(cluster, verb, bogus=1)
    assert answer.rc == 2
    [error] = [error for error in answer.document["errors"] if error["check"] == "bogus"]
    assert error["expected"].startswith(f"{verb} takes ")
    assert error["message"].startswith("bogus: unknown parameter (-e bogus)")


def test_a_plan_and_a_refused_plan(cluster: Cluster) -> None:
    checked = ask(cluster, "launch", "--check")
    assert (checked.rc, checked.document["verdict"]) == (0, None)
    assert sorted(checked.document["plan"]["jobs"]) == ["node0", "node1"]
    refused = ask(cluster, "launch", script="missing.py")
    assert (refused.rc, refused.document["plan"]) == (2, None)
    assert {(error["node"], error["check"]) for error in refused.document["errors"]} == {
        ("node0", "files"),
        ("node1", "files"),
    }
    assert all(error["observed"] and error["expected"] and error["remedy"] for error in refused.document["errors"])


@pytest.mark.parametrize("callback", CALLBACKS)
def test_any_callback(cluster: Cluster, callback: str) -> None:
    answer = ask(cluster, "list", callback=callback)
    assert (answer.rc, answer.document["experiments"]) == (0, [])


def test_a_lost_node(cluster: Cluster) -> None:
    launched = ask(cluster, "launch", run_id=RUN_ID, follow=False, script_args=["--seconds", "600"])
    assert (launched.rc, launched.document["run_id"], launched.document["verdict"]) == (0, RUN_ID, None)
    runner = cluster.state("node1")["pid"]
    (process,) = [process for process in cluster.processes() if process.pid == runner]
    process_tree.send(process, signal.SIGKILL)
    followed = ask(cluster, "follow", run_id=RUN_ID, output="jsonl")
    assert followed.rc == 2
    assert followed.document["verdict"]["verdict"] == "lost"
    (error,) = followed.document["errors"]
    assert error["node"] == "node1"


def test_the_verbs_without_a_run(cluster: Cluster, tmp_path: Path) -> None:
    gpus = ask(cluster, "gpus")
    assert (gpus.rc, [(node["node"], node["gpus"]) for node in gpus.document["nodes"]]) == (
        0,
        [("node0", []), ("node1", [])],
    )
    detected = ask(cluster, "detect", page=str(tmp_path / "detect.html"))
    assert (detected.rc, sorted(detected.document["nodes"])) == (0, ["node0", "node1"])
    report = ask(cluster, "rdma", page=str(tmp_path / "rdma.html"), node="node1")
    assert (report.rc, sorted(report.document["nodes"])) == (0, ["node0", "node1"])
    assert all(node["sections"] for node in report.document["nodes"].values())
    assert (tmp_path / "rdma.html").is_file()
    assert json.loads(Path(detected.document["document"]).read_text())["nodes"] == detected.document["nodes"]
    cluster.ignore_machine()
    passed = ask(cluster, "preflight")
    assert (passed.rc, passed.document["code"]) == (0, 0), passed.messages
    levels = {**cluster.policy["preflight_levels"], "kernel": "fail"}
    failed = ask(cluster, "preflight", preflight_expected={"kernel": "0.1"}, preflight_levels=levels)
    assert (failed.rc, failed.document["code"]) == (1, 1)
    assert {(error["node"], error["check"]) for error in failed.document["errors"]} == {
        ("node0", "kernel"),
        ("node1", "kernel"),
    }
    removed = ask(cluster, "teardown")
    assert (removed.rc, [node["node"] for node in removed.document["nodes"]]) == (0, ["node0", "node1"])


@pytest.mark.skipif(sshd.missing() is not None, reason=str(sshd.missing()))
def test_a_node_that_is_not_reachable(server: sshd.Sshd, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind((sshd.ADDRESSES[1], 0))
        hosts = server.per_node()
        hosts["node1"].update(ansible_port=closed.getsockname()[1])
        cluster = Cluster(tmp_path, policy=server.policy(), per_node=hosts)
        try:
            check_unreachable(cluster)
        finally:
            cluster.destroy()


def check_unreachable(cluster: Cluster) -> None:
    launch = ask(cluster, "launch")
    assert launch.rc == 2
    (error,) = launch.document["errors"]
    assert (error["node"], error["check"]) == ("node1", "answer")
    assert "Connection refused" in error["observed"]
    assert error["remedy"].startswith("start sshd there")
    preflight = ask(cluster, "preflight")
    assert preflight.document["nodes"]["node1"]["answered"] is False
    assert "node1" in {error["node"] for error in preflight.document["errors"]}
    for verb in ("status", "logs", "stacks", "shell", "stop", "collect", "teardown", "detect", "gpus"):
        answer = ask(cluster, verb, **({"node": "node1"} if verb == "shell" else {}))
        assert any("Connection refused" in message for message in answer.messages), answer.document


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_jq_reads_it(ended: tuple[Cluster, Answer, Answer]) -> None:
    cluster, _succeeded, _failed = ended
    parameters = json.dumps({"run_id": FAILED, "output": "json"})
    status = cluster.play("playbooks/status.yml", "-e", parameters, apart=True)
    assert status.rc == 0, status.err
    read = subprocess.run(
        ["jq", "-er", '"\\(.verdict.verdict) \\(.verdict.cause.node) \\(.verdict.cause.exit_code)"'],
        input=status.out,
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stdout == "failed node1 7\n"


def test_the_example_launches_by_ansible_runner(cluster: Cluster) -> None:
    command = [sys.executable, str(ROOT / "examples" / "embedding" / "launch.py"), str(cluster.inventory), "sleeper.py"]

    def run(*arguments: str) -> Played:
        environment = cluster.environment(PATH=search_path(), ANSIBLE_COLLECTIONS_PATH=str(ROOT / "collections"))
        return run_to_end([*command, *arguments], environment, cluster.home, apart=True)

    succeeded = run("--seconds", "1")
    assert succeeded.rc == 0, succeeded.err
    assert "- Plan the run\n" in succeeded.out.replace("muster.train.launch : ", "")
    assert re.search(r"^sleeper_\S+: succeeded in \S+ s$", succeeded.out, re.MULTILINE), succeeded.out
    failed = run("--fail-rank", "1", "--how", "exit7")
    assert failed.rc == 2, failed.err
    assert re.search(r"^node1: sleeper_\S+ failed: node1: rank 1 exited with code 7$", failed.out, re.MULTILINE)


def test_a_follow_ends_when_its_reader_leaves(cluster: Cluster) -> None:
    launched = ask(cluster, "launch", run_id=RUN_ID, follow=False, script_args=["--seconds", "3000"])
    assert launched.rc == 0, launched.err
    parameters = json.dumps({"run_id": RUN_ID, "output": "jsonl"})
    command = shlex.join(cluster.command("playbooks/follow.yml", "-e", parameters))
    pipe = f"{command} 2>/dev/null | head -n 1; exit ${{PIPESTATUS[0]}}"
    ended = run_to_end(["bash", "-c", pipe], cluster.environment(), apart=True, timeout=300)
    assert ended.rc == 128 + signal.SIGPIPE
    assert json.loads(ended.out)["event"] == "sample"
    wait_for(lambda: cluster.controllers() == [], "no process of the controller is left", 60)


@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")
def test_a_setup_names_what_it_changed(cluster: Cluster, tmp_path: Path) -> None:
    cluster.policy.update(
        launch_code_dir=str(tmp_path / "copies") + "/{{ inventory_hostname }}",
        code_source="rsync",
        code_rsync_path=f"{WORKLOADS}/",
    )
    cluster.write()
    answer = ask(cluster, "setup", "--tags", "code")
    assert answer.rc == 0, answer.err
    assert answer.document["preflight"] is None
    assert sorted(answer.document["changes"]) == ["node0", "node1"]
    assert ask(cluster, "setup", "--tags", "code").document["changes"] == {}
