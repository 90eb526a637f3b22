# SPDX-License-Identifier: GPL-3.0-or-later
"""The runtime docker on a real engine: every run a container of its own, ended and reported like any other run."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support import engine
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.terminal import command_on_terminal

WHY_NOT = engine.missing()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
NAME = f"muster-{RUN_ID}-0"
TELL = "import os\nprint('image', os.environ.get('OF_THE_IMAGE'), os.environ.get('LOGIN_ONLY'))\n"
TOKEN = "planted-5d41402abc4b2a76"


@pytest.fixture
def boxed(tmp_path: Path) -> Iterator[Cluster]:
    """One node whose ranks run in a container of this machine's engine."""
    engine.make_image()
    compose = tmp_path / "compose.yaml"
    engine.write_compose(compose, tmp_path)
    policy = {"launch_runtime": "docker", "launch_compose_file": str(compose), "launch_python": sys.executable}
    made = Cluster(tmp_path, ["node0"], policy)
    yield made
    made.destroy()
    engine.remove_containers(tmp_path)


def test_a_run_has_its_own_container_and_its_verdict_is_collected(
    boxed: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() == 0:
        work = tmp_path / "work" / "node0"
        work.mkdir(parents=True)
        os.chown(work, 65534, 65534)
        monkeypatch.setenv("SUDO_UID", "65534")  # as if its owner had become root
    launched = boxed.launch(follow=True, script_args="--seconds 3")
    assert launched.rc == 0, launched.out
    (container,) = engine.containers(tmp_path)
    assert container["Name"] == f"/{NAME}"
    assert container["State"]["ExitCode"] == 0
    state = boxed.state("node0")
    assert (state["phase"], state["starter"]) == ("succeeded", "docker")
    assert container["Config"]["Labels"]["muster.nonce"] == state["nonce"]
    assert boxed.record()["verdict"] == "succeeded"
    # The container's root wrote it all, and the directory's owner has it.
    owners = {path.lstat().st_uid for path in boxed.run_dir("node0").rglob("*")}
    assert owners == {(tmp_path / "work" / "node0").stat().st_uid}


def test_stacks_are_taken_inside_the_container(boxed: Cluster, tmp_path: Path) -> None:
    assert boxed.launch(script_args="--seconds 600").rc == 0
    wait_for(lambda: bool(boxed.metrics("node0")), "the rank says something")
    shown = boxed.verb("stacks")
    assert shown.rc == 0, shown.out
    assert "main (sleeper.py:" in shown.out
    text = next((boxed.experiments / RUN_ID / "stacks").rglob("rank_00.txt")).read_text()
    assert ", by answer\n" in text
    (container,) = engine.containers(tmp_path)
    assert container["State"]["Running"]


def test_a_shell_in_the_container(boxed: Cluster) -> None:
    assert boxed.launch(script_args="--seconds 600").rc == 0
    shown = boxed.verb("shell", rank=0)
    assert f"rank 0 of {RUN_ID} (running) is in the container {NAME} on node0, in {WORKLOADS}" in shown.out
    line = next(line.strip() for line in shown.out.splitlines() if line.startswith("  docker exec "))
    keys = [b"pwd; echo inside=$(ls -d /.dockerenv); exit\n"]

    def press(screen: str) -> bytes:
        return keys.pop() if keys and re.search(r"[$#] ?\Z", screen) else b""

    entered = command_on_terminal(["/bin/sh", "-c", line], boxed.environment(TERM="dumb"), press)
    assert "inside=/.dockerenv" in entered.out, entered.out
    assert str(WORKLOADS) in entered.out.splitlines()


def test_a_relaunch_replaces_the_ended_container(boxed: Cluster, tmp_path: Path) -> None:
    for _launch in range(2):
        assert boxed.launch(follow=True, script_args="--seconds 1").rc == 0
    (container,) = engine.containers(tmp_path)
    assert container["Config"]["Labels"]["muster.nonce"] == boxed.state("node0")["nonce"]


def test_stop_lets_the_runner_end_the_run(boxed: Cluster, tmp_path: Path) -> None:
    assert boxed.launch(script_args="--seconds 600").rc == 0
    stopped = boxed.verb("stop", run_id=RUN_ID)
    assert stopped.rc == 0, stopped.out
    assert boxed.state("node0")["phase"] == "stopped"
    assert boxed.state("node0")["why"].startswith("stop requested")
    assert engine.containers(tmp_path) == []
    assert boxed.processes() == []


def test_docker_stop_stops_the_run(boxed: Cluster, tmp_path: Path) -> None:
    assert boxed.launch(script_args="--seconds 600").rc == 0
    engine.docker("stop", "-t", "20", NAME)
    assert boxed.state("node0")["phase"] == "stopped"
    assert boxed.state("node0")["why"].startswith("node0: the runner received SIGTERM")
    (container,) = engine.containers(tmp_path)
    assert container["State"]["ExitCode"] == 0


def test_a_killed_container_is_reported(boxed: Cluster, tmp_path: Path) -> None:
    assert boxed.launch(script_args="--seconds 600").rc == 0
    engine.docker("kill", NAME)
    status = boxed.verb("status", run_id=RUN_ID)
    assert f"its container {NAME} was killed by SIGKILL (exit code 137)" in " ".join(status.out.split()), status.out
    assert status.phases["node0"] == "lost"
    assert boxed.verb("stop", run_id=RUN_ID).rc == 0
    assert "was killed by SIGKILL (exit code 137)" in boxed.state("node0")["why"]
    assert engine.containers(tmp_path) == []


def test_stop_removes_a_container_killed_before_its_runner_wrote_a_state(boxed: Cluster, tmp_path: Path) -> None:
    assert boxed.launch(follow=True, script_args="--seconds 1").rc == 0
    (boxed.run_dir("node0") / "state.json").unlink()
    assert boxed.verb("stop", run_id=RUN_ID).rc == 0
    assert engine.containers(tmp_path) == []


def test_a_run_that_ran_out_of_memory_says_so(boxed: Cluster, tmp_path: Path) -> None:
    engine.write_compose(tmp_path / "compose.yaml", tmp_path, mem_limit="96m", memswap_limit="96m")
    (tmp_path / "eat.py").write_text("import time\ntime.sleep(2)\nfood = bytearray(10 ** 9)\n")
    launched = boxed.launch(follow=True, script=str(tmp_path / "eat.py"))
    assert launched.rc != 0
    assert "rank 0 killed by SIGKILL: out of memory, the kernel killed" in " ".join(launched.out.split()), launched.out
    cause = boxed.record()["cause"]
    assert (cause["rank"], cause["signal"], cause["oom_killed"]) == (0, "SIGKILL", True)


def test_a_running_container_of_the_same_name_is_not_touched(boxed: Cluster, tmp_path: Path) -> None:
    engine.docker(
        "run",
        "--detach",
        "--name",
        NAME,
        *(f"--volume={volume}" for volume in engine.borrowed()),
        engine.IMAGE,
        "/usr/bin/sleep",
        "300",
    )
    try:
        launched = boxed.launch(script_args="--seconds 1")
        assert launched.rc != 0
        assert f"a container that is not Muster's has the name {NAME}" in " ".join(launched.out.split()), launched.out
        assert json.loads(engine.docker("inspect", NAME))[0]["State"]["Running"]
    finally:
        engine.docker("rm", "--force", NAME)


def test_a_missing_service_is_reported_in_dockers_words(boxed: Cluster) -> None:
    boxed.policy["launch_compose_service"] = "absent"
    boxed.write()
    launched = boxed.launch()
    assert launched.rc != 0
    assert "node0" in launched.out
    assert "no such service: absent" in launched.out, launched.out


def test_an_image_that_cannot_run_the_runner_shows_its_last_output(boxed: Cluster, tmp_path: Path) -> None:
    engine.write_compose(tmp_path / "compose.yaml", tmp_path / "work" / "elsewhere")
    launched = boxed.launch()
    assert launched.rc != 0
    assert "can't open file" in launched.out, launched.out
    assert engine.containers(tmp_path) == []


def test_docker_shows_no_secret(boxed: Cluster, tmp_path: Path) -> None:
    boxed.policy["launch_secrets"] = {"MUSTER_TEST_TOKEN": TOKEN}
    boxed.write()
    assert boxed.launch(script="confidant.py").rc == 0
    (container,) = engine.containers(tmp_path)
    boxed.wait_phase(RUN_ID, "succeeded")
    assert TOKEN not in json.dumps(container) + engine.docker("logs", NAME)
    inside = [path for path in boxed.run_dir("node0").rglob("*") if path.is_file()]
    assert not [path for path in inside if TOKEN in path.read_text(errors="replace")]
    assert "knows" in (boxed.run_dir("node0") / "logs" / "rank_00.log").read_text()


def test_the_ranks_have_the_containers_environment(boxed: Cluster, tmp_path: Path) -> None:
    engine.write_compose(tmp_path / "compose.yaml", tmp_path, env_file=[str(tmp_path / "image.env")])
    (tmp_path / "image.env").write_text("OF_THE_IMAGE=yes\n")
    (tmp_path / "tell.py").write_text(
        "import os\nprint('image', os.environ.get('OF_THE_IMAGE'), os.environ.get('LOGIN_ONLY'))\n"
    )
    played = boxed.verb("launch", run_id=RUN_ID, follow=True, script=str(tmp_path / "tell.py"))
    assert played.rc == 0, played.out
    wait_for(lambda: "image yes None" in (boxed.run_dir("node0") / "logs" / "rank_00.log").read_text(), "its line")
