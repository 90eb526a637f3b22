# SPDX-License-Identifier: GPL-3.0-or-later
"""What breaks while a run goes on: the cause is named, `stop` leaves nothing, and the run beside it notices nothing."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for

LONG = "--seconds 3000"


@pytest.fixture(scope="module")
def neighbor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A run that goes on beside all others on this machine: the same run id, other work directories."""
    beside = Cluster(tmp_path_factory.mktemp("neighbor"))
    try:
        launched = beside.launch(script_args=LONG)
        assert launched.rc == 0, launched.out
        yield beside
    finally:
        beside.destroy()


@pytest.fixture(autouse=True)
def untouched(neighbor: Cluster, cluster: Cluster) -> Iterator[None]:
    """Every test here ends with no process of its run and with the neighbor as it was."""
    before = neighbor.identities()
    assert len(before) == 4, "two runners, two ranks"
    yield
    assert cluster.processes() == []
    assert neighbor.identities() == before
    assert [neighbor.state(node)["phase"] for node in neighbor.names] == ["running", "running"]


def stop(cluster: Cluster) -> str:
    """Stop the run, of which no process stays. Return what was printed, with single blanks."""
    stopped = cluster.verb("stop")
    assert stopped.rc == 0, stopped.out
    assert cluster.processes() == []
    return " ".join(stopped.out.split())


def running(cluster: Cluster, *nodes: str) -> None:
    """Wait until the ranks of these nodes (of all) have written their first record."""
    wait_for(lambda: all(cluster.metrics(node) for node in nodes or cluster.names), "the ranks run")


def kill_runner(cluster: Cluster, node: str) -> int:
    """End a node's runner as the kernel does when memory runs out."""
    pid = int(cluster.state(node)["pid"])
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: process_tree.look(pid) is None, f"the runner of {node} is dead")
    return pid


def of_node(cluster: Cluster, node: str) -> list[Process]:
    """Return the run's processes on one node."""
    return process_tree.processes_of(RUN_ID, str(cluster.run_dir(node)))


def assert_raised(cluster: Cluster, printed: str) -> None:
    """Check the verdict on collective.py, whose rank 1 raises; PyTorch may abort it while it exits."""
    record = cluster.record()
    cause = record["cause"]
    assert (record["verdict"], cause["node"], cause["rank"]) == ("failed", "node1", 1)
    assert (cause["exception"], cause["message"]) == ("ValueError", "the loss is not a number")
    assert (cause["exit_code"], cause["signal"]) in ((1, None), (None, "SIGABRT"))
    assert f"failed: {record['why']}" in printed, printed


@pytest.mark.gate
def test_a_rank_that_raises_is_the_cause_and_its_failed_peer_is_not(cluster: Cluster) -> None:
    failed = cluster.launch(follow=True, script="collective.py", launcher="torchrun", script_args="--fail-rank 1")
    assert failed.rc != 0
    assert_raised(cluster, failed.out)
    assert cluster.record()["exit_codes"]["node1"] == 1
    # The collective takes it along, unless its own runner is faster.
    assert cluster.state("node0")["phase"] in ("failed", "stopped")
    first = cluster.state("node1")["first"]
    assert (first["rank"], first["local_rank"]) == (1, 0)
    assert first["traceback"][-1] == "ValueError: the loss is not a number"
    assert any("collective.py" in line for line in first["traceback"])
    # The error file that torch wrote came home.
    assert list((cluster.experiments / RUN_ID / "nodes/1/errors").iterdir())
    stop(cluster)


def test_a_rank_that_raised_is_the_cause_although_its_peer_exited_first(cluster: Cluster) -> None:
    arguments = "--fail-rank 1 --slowly"
    failed = cluster.launch(follow=True, script="collective.py", launcher="torchrun", script_args=arguments)
    assert_raised(cluster, failed.out)
    stop(cluster)


def test_a_rank_that_exits_on_the_head_ends_the_launch(cluster: Cluster) -> None:
    sleepers = f"{LONG} --fail-rank 1 --how exit7"
    failed = cluster.launch(follow=True, launcher="torchrun", nproc=2, script_args=sleepers)
    assert failed.rc != 0
    why = "node0: rank 1 exited with code 7"
    assert f"  {why}\n    then node0: rank 0 killed by SIGTERM\n" in failed.out
    # The others do not wait for it.
    assert failed.phases == {"node0": "failed", "node1": "stopped"}
    assert cluster.state("node1")["end"]["why"].startswith(why)
    record = cluster.record()
    assert (record["verdict"], record["why"], record["exit_codes"]["node0"]) == ("failed", why, 1)
    first = cluster.state("node0")["first"]
    assert (first["rank"], first["local_rank"], first["exit_code"], first["signal"]) == (1, 1, 7, None)
    stop(cluster)


def test_a_rank_killed_by_a_signal_is_named_and_ends_the_others(cluster: Cluster) -> None:
    assert cluster.launch(launcher="torchrun", script_args=f"{LONG} --fail-rank 1 --how segv").rc == 0
    cluster.wait_phase(RUN_ID, "stopped", "node0")
    status = cluster.verb("status")
    assert status.phases == {"node0": "stopped", "node1": "failed"}
    assert "  node1: rank 1 killed by SIGSEGV\n" in status.out
    [report] = cluster.state("node0")["gang"]["reports"]
    assert (report["node"], report["rank"], report["signal"]) == ("node1", 1, "SIGSEGV")
    first = cluster.state("node1")["first"]
    assert (first["rank"], first["exit_code"], first["signal"]) == (1, None, "SIGSEGV")
    stop(cluster)


@pytest.mark.parametrize("launcher", ["torchrun", "python"])
def test_a_script_that_ignores_sigterm_is_stopped_too(cluster: Cluster, launcher: str) -> None:
    assert cluster.launch(launcher=launcher, script_args=f"--deaf {LONG}").rc == 0
    running(cluster)
    output = stop(cluster)
    assert f"asking the runners of {RUN_ID} on node0 and node1 to stop: SIGTERM, and SIGKILL after up to 5 s" in output
    for rank, node in enumerate(cluster.names):
        assert "deaf to SIGTERM" in (cluster.run_dir(node) / f"logs/rank_{rank:02d}.log").read_text()
        state = cluster.state(node)
        killed = f"rank {rank} did not exit after SIGTERM and was killed"
        assert killed in output
        assert (state["phase"], state["why"]) == ("stopped", f"stop requested; {killed}")
        assert state["signal"] == ("SIGKILL" if launcher == "python" else None)


def test_torchrun_killed(cluster: Cluster) -> None:
    assert cluster.launch(launcher="torchrun", script_args=f"--deaf {LONG}").rc == 0
    running(cluster)
    os.kill(cluster.state("node1")["launcher"]["pid"], signal.SIGKILL)
    # Its rank, which ignores SIGTERM, was the runner's to end.
    wait_for(lambda: of_node(cluster, "node1") == [], "node1 is empty")
    cluster.wait_phase(RUN_ID, "stopped", "node0")
    status = cluster.verb("status")
    assert status.phases == {"node0": "stopped", "node1": "failed"}
    assert "node1: the launcher was killed by SIGKILL" in status.out
    stop(cluster)


@pytest.mark.gate
def test_runner_killed_and_node_rebooted(cluster: Cluster) -> None:
    assert cluster.launch(launcher="torchrun", script_args=LONG).rc == 0
    running(cluster)
    pid = kill_runner(cluster, "node1")
    # The death signal ends torchrun, and torchrun its rank.
    wait_for(lambda: of_node(cluster, "node1") == [], "node1 is empty")
    cluster.wait_phase(RUN_ID, "stopped", "node0")
    assert cluster.state("node0")["end"]["verdict"] == "lost"
    status = cluster.verb("status")
    assert status.phases == {"node0": "stopped", "node1": "lost"}
    assert f"node1: the runner (pid {pid}) ended without a verdict while the run was running" in status.out
    # Nothing but the boot id tells a reboot: the processes, and with them the lock, are gone as well.
    path = cluster.run_dir("node1") / "state.json"
    path.write_text(json.dumps({**cluster.state("node1"), "boot_id": "00000000-0000-0000-0000-000000000000"}))
    status = cluster.verb("status")
    assert status.phases == {"node0": "stopped", "node1": "lost"}
    assert "node1: the node was rebooted while the run was running" in status.out
    stop(cluster)


def test_launch_says_that_the_runner_was_killed_over_a_script_that_ignores_sigterm(cluster: Cluster) -> None:
    followed = cluster.begin("launch", nnodes=1, script_args=f"--deaf {LONG}")
    running(cluster, "node0")
    pid = kill_runner(cluster, "node0")
    out, _err = followed.communicate(timeout=120)
    assert followed.returncode != 0
    why = f"node0: the runner (pid {pid}) ended without a verdict while the run was running: killed?"
    assert f"  {why}\n" in out
    assert "1 process is left over" in " ".join(out.split())
    record = cluster.record()
    assert (record["verdict"], record["why"]) == ("lost", why)
    assert [process.pid for process in cluster.processes()] == [cluster.state("node0")["launcher"]["pid"]]
    stop(cluster)
    status = cluster.verb("status")
    assert status.phases == {"node0": "lost"}
    assert f"{why}; stop swept 1 process" in " ".join(status.out.split())
