# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller that ends early, or whose output nothing reads any more: it ends quietly, and no process is left."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_runner.interface import run

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import ROOT
from ansible_collections.muster.train.tests.support.terminal import on_terminal

# By hand more than CI has time for.
ROUNDS = int(os.environ.get("MUSTER_TEST_ROUNDS", "1"))
PROGRESS = "running  step "
LIMIT_S = 300


class TerminalClosed(Exception):
    """The user closed the window."""


def assert_nothing_is_left(cluster: Cluster) -> None:
    wait_for(lambda: cluster.controllers() == [], "no process of a controller is left", 60)
    assert list(cluster.local_tmp.glob("*")) == []


def test_the_reader_of_the_output_leaves(cluster: Cluster) -> None:
    for number in range(2000):  # more than a pipe holds
        (cluster.experiments / f"experiment{number}").mkdir(parents=True)
    command = shlex.join(cluster.command("playbooks/list.yml"))
    # The first line is Ansible's own, the sixth is printed for a worker.
    for lines in (1, 6) * ROUNDS:
        ended = subprocess.run(
            ["bash", "-c", f"{command} | head -n {lines}; exit ${{PIPESTATUS[0]}}"],
            env=cluster.environment(),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, "")
        assert ended.stdout.count("\n") == lines
        assert_nothing_is_left(cluster)


def follow_to_progress(cluster: Cluster) -> subprocess.Popen[str]:
    controller = cluster.begin("follow")
    assert controller.stdout
    assert any(PROGRESS in line for line in controller.stdout)
    return controller


def test_a_follower_ends_and_the_run_goes_on(cluster: Cluster) -> None:
    launched = cluster.launch(script_args=["--seconds", "3000"])
    assert launched.rc == 0, launched.out
    for _round in range(ROUNDS):
        controller = follow_to_progress(cluster)
        controller.kill()
        controller.communicate(timeout=LIMIT_S)
        wait_for(lambda: cluster.controllers() == [], "no worker outlives its controller", 60)

        def close(screen: str) -> bytes:
            if PROGRESS in screen:
                raise TerminalClosed
            return b""

        with pytest.raises(TerminalClosed):
            on_terminal(cluster, close, "playbooks/follow.yml", "-e", f"run_id={RUN_ID}")
        wait_for(lambda: cluster.controllers() == [], "no worker outlives the terminal", 60)

        controller = follow_to_progress(cluster)
        assert controller.stdout
        controller.stdout.close()
        # Its next line is due in seconds.
        assert controller.wait(timeout=LIMIT_S) == -signal.SIGPIPE
        wait_for(lambda: cluster.controllers() == [], "no worker outlives the reader", 60)
    assert [cluster.state(node)["phase"] for node in cluster.names] == ["running", "running"]
    assert len(cluster.processes(RUN_ID)) >= 4


def follow_and_cancel(cluster: Cluster, directory: Path) -> str:
    """Follow by ansible-runner and cancel once there is progress; return the status that it ends with."""
    progress: list[str] = []

    def note(event: dict[str, Any]) -> bool:
        if PROGRESS in event["stdout"]:
            progress.append(event["stdout"])
        return True

    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    ended = run(
        private_data_dir=str(directory),
        project_dir=str(ROOT),
        playbook=str(ROOT / "playbooks" / "follow.yml"),
        inventory=str(cluster.inventory),
        extravars={"run_id": RUN_ID},
        envvars={name: value for name, value in cluster.environment(PATH=path).items() if name.startswith("ANSIBLE_")}
        | {"PATH": path},
        event_handler=note,
        cancel_callback=lambda: bool(progress),
        quiet=True,
    )
    assert progress, ended.stdout.read()
    return str(ended.status)


def test_a_cancel_by_ansible_runner_leaves_no_process(cluster: Cluster, tmp_path: Path) -> None:
    launched = cluster.launch(script_args=["--seconds", "3000"])
    assert launched.rc == 0, launched.out
    for number in range(ROUNDS):
        directory = tmp_path / f"runner{number}"
        directory.mkdir()
        assert follow_and_cancel(cluster, directory) == "canceled"
        wait_for(lambda: cluster.controllers() == [], "no worker outlives the cancel", 60)
    assert [cluster.state(node)["phase"] for node in cluster.names] == ["running", "running"]
