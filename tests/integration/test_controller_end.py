# SPDX-License-Identifier: GPL-3.0-or-later
"""However a controller ends, nodes and controller are left as they should be, and a run that has begun goes on."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_runner.interface import run

from ansible_collections.muster.train.tests.support import death
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import make_job, prepare, wait_for
from ansible_collections.muster.train.tests.support.play import ROOT, run_to_end, search_path
from ansible_collections.muster.train.tests.support.terminal import on_terminal

# By hand more than CI has time for.
ROUNDS = int(os.environ.get("MUSTER_TEST_ROUNDS", "1"))
PROGRESS = "running  step "
LIMIT_S = 300


class TerminalClosed(Exception):
    """The user closed the window."""


@pytest.fixture
def confidential(cluster: Cluster) -> Cluster:
    """The same cluster with a secret."""
    cluster.policy.update(death.POLICY)
    cluster.write()
    return cluster


@pytest.mark.parametrize("how", ["alone", pytest.param("everything", marks=pytest.mark.gate), "interrupt"])
def test_a_controller_dies_between_prepare_and_start(confidential: Cluster, how: str) -> None:
    death.launch_and_strike(confidential, how)
    death.check_what_is_left(confidential)
    # With pipelining no module was ever a file.
    assert death.files_below(confidential.remote_tmp) == []


def test_a_controller_died_before_any_runner_was_born(confidential: Cluster) -> None:
    work = confidential.home / "work"
    (work / "node1").mkdir(parents=True)
    # Too short a moment to strike in it: the files as the module leaves them.
    job = make_job(work / "node1", [sys.executable], run_id=RUN_ID, node="node1", node_rank=1)
    prepare(job, {"secrets": confidential.policy["launch_secrets"]})
    assert death.files_with(death.SECRET, work) != []
    death.check_what_is_left(confidential)


def test_the_reader_of_the_output_leaves(cluster: Cluster) -> None:
    for number in range(2000):  # more than a pipe holds
        (cluster.experiments / f"experiment{number}").mkdir(parents=True)
    command = shlex.join(cluster.command("playbooks/list.yml"))
    # The first line is Ansible's own, the sixth is printed for a worker.
    for lines in (1, 6) * ROUNDS:
        pipe = f"{command} | head -n {lines}; exit ${{PIPESTATUS[0]}}"
        ended = run_to_end(["bash", "-c", pipe], cluster.environment(), apart=True, timeout=LIMIT_S)
        assert (ended.rc, ended.err) == (128 + signal.SIGPIPE, "")
        assert ended.out.count("\n") == lines
        wait_for(lambda: cluster.controllers() == [], "no process of a controller is left", 60)
        assert list(cluster.local_tmp.glob("*")) == []


@pytest.fixture(scope="module")
def orphan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a run whose controller was killed; it goes on until there is a file named `over`."""
    cluster = Cluster(tmp_path_factory.mktemp("orphan"))
    try:
        arguments = f"--seconds 3000 --until {cluster.home / 'over'}"
        controller = cluster.begin("launch", launcher="torchrun", nproc=2, script_args=arguments)
        cluster.wait_phase(RUN_ID, "running")
        os.kill(controller.pid, signal.SIGKILL)
        controller.communicate(timeout=180)
        wait_for(lambda: [len(cluster.metrics(node)) for node in cluster.names] == [2, 2], "all ranks write")
        yield cluster
    finally:
        cluster.destroy()


def follow_to_progress(cluster: Cluster) -> subprocess.Popen[str]:
    controller = cluster.begin("follow")
    assert controller.stdout
    assert any(PROGRESS in line for line in controller.stdout)
    return controller


def test_a_follower_ends_and_the_run_goes_on(orphan: Cluster) -> None:
    before = orphan.identities()
    for _round in range(ROUNDS):
        controller = follow_to_progress(orphan)
        controller.kill()
        controller.communicate(timeout=LIMIT_S)
        wait_for(lambda: orphan.controllers() == [], "no worker outlives its controller", 60)

        def close(screen: str) -> bytes:
            if PROGRESS in screen:
                raise TerminalClosed
            return b""

        with pytest.raises(TerminalClosed):
            on_terminal(orphan, close, "playbooks/follow.yml", "-e", f"run_id={RUN_ID}")
        wait_for(lambda: orphan.controllers() == [], "no worker outlives the terminal", 60)

        controller = follow_to_progress(orphan)
        assert controller.stdout
        controller.stdout.close()
        # Its next line is due in seconds.
        assert controller.wait(timeout=LIMIT_S) == -signal.SIGPIPE
        wait_for(lambda: orphan.controllers() == [], "no worker outlives the reader", 60)
    assert [orphan.state(node)["phase"] for node in orphan.names] == ["running", "running"]
    assert orphan.identities() == before


def follow_and_cancel(cluster: Cluster, directory: Path) -> str:
    """Follow by ansible-runner and cancel once there is progress; return the status that it ends with."""
    progress: list[str] = []

    def note(event: dict[str, Any]) -> bool:
        if PROGRESS in event["stdout"]:
            progress.append(event["stdout"])
        return True

    variables = {name: value for name, value in cluster.environment().items() if name.startswith("ANSIBLE_")}
    ended = run(
        private_data_dir=str(directory),
        project_dir=str(ROOT),
        playbook=str(ROOT / "playbooks" / "follow.yml"),
        inventory=str(cluster.inventory),
        extravars={"run_id": RUN_ID},
        envvars={**variables, "PATH": search_path()},
        event_handler=note,
        cancel_callback=lambda: bool(progress),
        quiet=True,
    )
    assert progress, ended.stdout.read()
    return str(ended.status)


def test_a_cancel_by_ansible_runner_leaves_no_process(orphan: Cluster, tmp_path: Path) -> None:
    before = orphan.identities()
    for number in range(ROUNDS):
        directory = tmp_path / f"runner{number}"
        directory.mkdir()
        assert follow_and_cancel(orphan, directory) == "canceled"
        wait_for(lambda: orphan.controllers() == [], "no worker outlives the cancel", 60)
    assert [orphan.state(node)["phase"] for node in orphan.names] == ["running", "running"]
    assert orphan.identities() == before


@pytest.mark.gate
def test_a_run_outlives_its_controller_and_is_collected_completely(orphan: Cluster) -> None:
    """The last test of this run, which ends here."""
    # Somebody else looks, from a machine that knows nothing of the launch.
    (orphan.home / "second").mkdir()
    second = Cluster(orphan.home / "second", policy={"launch_workdir": orphan.policy["launch_workdir"]})
    running = second.verb("status")
    assert running.rc == 0, running.out
    assert running.phases == {"node0": "running", "node1": "running"}
    (orphan.home / "over").touch()
    orphan.wait_phase(RUN_ID, "succeeded")

    collected = second.verb("collect")
    assert collected.rc == 0, collected.out
    assert collected.phases == {"node0": "succeeded", "node1": "succeeded"}
    home = second.experiments / RUN_ID
    record = second.record()
    assert (record["verdict"], record["world_size"]) == ("succeeded", 4)
    # Its ranks do not train together.
    assert record["why"].startswith("succeeded, but no rank joined a process group")
    assert record["exit_codes"] == {"node0": 0, "node1": 0}
    assert record["nonce"] == orphan.state("node0")["nonce"]
    assert record["parameters"]["launcher"] == {"value": "torchrun", "origin": "-e launcher", "layer": "extra_vars"}
    here = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    ranks = {f"ranks/rank_{rank:02d}.log" for rank in range(4)}
    metrics = {f"outputs/rank_{rank:02d}_metrics.jsonl" for rank in range(4)}
    assert {"plan.json", "run.yml", *ranks, *metrics} <= here
    logs = sorted(home.glob("logs/node_*.txt"))
    assert [log.name[: len("node_0_")] for log in logs] == ["node_0_", "node_1_"]
    for rank, node in enumerate(["node0", "node0", "node1", "node1"]):
        assert f" rank{rank} | rank {rank} ends\n" in logs[rank // 2].read_text()
        metrics_file = f"outputs/rank_{rank:02d}_metrics.jsonl"
        assert (home / metrics_file).read_text() == (orphan.run_dir(node) / metrics_file).read_text() != ""
    assert orphan.processes() == []
