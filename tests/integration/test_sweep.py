# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb sweep: points that succeed, fail and hang, the same command again, Ctrl-C, and a killed controller."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._sweep import record
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Sweep
from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import Played
from ansible_collections.muster.train.tests.support.terminal import on_terminal

AXES = {"env.A": ["1", "2"], "env.B": ["1", "2"]}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    # A sweep follows its runs, whatever the cluster's default is.
    defaults = {"script": "surface.py", "launcher": "python", "nproc": 1, "follow": False}
    cluster = Cluster(tmp_path, policy={"launch_defaults": defaults})
    try:
        yield cluster
    finally:
        cluster.destroy()


def parameters(cluster: Cluster, **environment: str) -> dict[str, Any]:
    """Return what each command of a test gives; a point that hangs or fails does so until there is a file `cure`."""
    env = {"CURE": str(cluster.home / "cure"), **environment}
    return {"sweep": AXES, "env": env, "preflight": False}


def swept(cluster: Cluster) -> Sweep:
    """Return what is kept of the only sweep."""
    [path] = cluster.experiments.glob("sweep_*/sweep.yml")
    return record.load(path.read_text())


def outcomes(cluster: Cluster) -> list[str]:
    return [point.outcome for point in swept(cluster).points]


def runs(cluster: Cluster) -> list[str]:
    return sorted(path.parent.name for path in cluster.experiments.glob("sweep_*/surface_*/run.yml"))


def sweep(cluster: Cluster, *extra: str, **more: Any) -> Played:
    return cluster.verb("sweep", *extra, **{**parameters(cluster, FAIL="2,1", HANG="2,2"), "time_limit": 4, **more})


@pytest.mark.gate
def test_a_sweep_goes_on_after_failures_and_the_same_command_runs_only_those(cluster: Cluster) -> None:
    played = sweep(cluster)
    assert played.rc == 2, played.out
    assert outcomes(cluster) == ["succeeded", "succeeded", "failed", "timed_out"]
    succeeded, second, failed, hung = swept(cluster).points
    assert (succeeded.value, second.value) == (1.0, 2.0)
    assert str(failed.why).endswith("ValueError: no loss at 2,1")
    assert hung.why == "time limit of 4 s reached"
    assert "run 3 of 4: env.A=2 env.B=1 failed after " in played.out
    assert "/point3.1.log" in played.out
    assert "2 of 4 runs succeeded, 1 failed, 1 timed out; the same command runs those that have not" in played.out
    assert "best loss: 1 with env.A=1 env.B=1" in played.out
    first = runs(cluster)
    assert len(first) == 4
    [page] = cluster.experiments.glob("sweep_*/report.html")
    shown = re.findall("<td>(succeeded|failed|timed out)</td>", page.read_text())
    assert shown == ["succeeded", "succeeded", "failed", "timed out"]

    (cluster.home / "cure").touch()
    played = sweep(cluster)
    assert played.rc == 0, played.out
    assert outcomes(cluster) == ["succeeded"] * 4
    again = sorted(set(runs(cluster)) - set(first))
    assert [name.split("_")[3] for name in again] == ["point3.1", "point4.1"]
    assert "best loss: 0 with env.A=2 env.B=1" in played.out

    played = sweep(cluster)
    assert played.rc == 0, played.out
    assert len(runs(cluster)) == 6, "nothing is left to run"
    listed = cluster.verb("list")
    assert re.search(r"^1 sweep\nsweep_[0-9_]+  4 of 4 runs succeeded$", listed.out, re.MULTILINE), listed.out
    assert "unreadable" not in listed.out


def test_the_document_and_the_end_after_some_failures(cluster: Cluster) -> None:
    asked = {**parameters(cluster, FAIL="1,1"), "max_failures": 1, "output": "json"}
    played = cluster.verb("sweep", **asked)
    assert played.rc == 2
    document = json.loads(played.out[played.out.index("{\n") :])
    assert documents.errors(document) == []
    assert [point["outcome"] for point in document["points"]] == ["failed", "pending", "pending", "pending"]
    assert document["errors"][0]["message"].startswith(
        f"{document['sweep_id']}: 0 of 4 runs succeeded, 1 failed, 3 not"
    )
    assert document["best"] is None


def test_a_check_starts_nothing(cluster: Cluster) -> None:
    played = sweep(cluster, "--check")
    assert played.rc == 0, played.out
    assert ": 4 runs; " in played.out
    assert not cluster.experiments.exists()


@pytest.mark.parametrize(
    ("axes", "more", "name"),
    [
        ({"chanels": [28, 42]}, {}, "chanels"),
        ({"channels": []}, {}, "channels"),
        ({"channels": [28, "many"]}, {}, "channels"),
        ({"channels": list(range(1, 101)), "threads": [64, 128]}, {"repeat": 6}, "confirm_points"),
    ],
)
def test_a_sweep_that_is_wrong_starts_nothing(
    cluster: Cluster, axes: dict[str, Any], more: dict[str, Any], name: str
) -> None:
    played = cluster.verb("sweep", sweep=axes, preflight=True, **more)
    assert (played.rc, len(played.messages)) == (2, 1), played.out
    assert name in played.messages[0]
    assert list(cluster.experiments.glob("*")) == []
    assert cluster.processes() == []


def test_a_launch_that_is_refused_is_an_outcome(cluster: Cluster) -> None:
    axes = {"script": ["surface.py", "absent.py"]}
    env = {"A": "1", "B": "1", "CURE": "/nonexistent"}
    played = cluster.verb("sweep", sweep=axes, env=env, preflight=False)
    assert played.rc == 2
    assert outcomes(cluster) == ["succeeded", "refused"]
    assert "absent.py does not exist" in str(swept(cluster).points[1].why)


def test_a_cluster_that_is_not_ready_is_refused_before_the_first_launch(cluster: Cluster) -> None:
    cluster.policy["launch_code_dir"] = str(cluster.home / "absent")
    cluster.write()
    played = cluster.verb("sweep", **{**parameters(cluster), "preflight": True})
    assert played.rc == 2
    assert any("preflight: the cluster is not ready, so nothing was launched: " in line for line in played.messages)
    assert runs(cluster) == []


def test_ctrl_c_stops_the_run_and_the_sweep(cluster: Cluster) -> None:
    pressed: list[str] = []

    def press(screen: str) -> bytes:
        if pressed or "running" not in screen or not runs(cluster):
            return b""
        pressed.append(screen)
        return b"\x03"

    played = on_terminal(cluster, press, "playbooks/sweep.yml", "-e", json.dumps(parameters(cluster, HANG="1,1")))
    assert played.rc == 2, played.out
    assert outcomes(cluster) == ["stopped", "pending", "pending", "pending"]
    assert "0 of 4 runs succeeded, 1 stopped, 3 not run; the same command runs those" in " ".join(played.out.split())
    assert cluster.processes(swept(cluster).points[0].run_id or "") == []


def test_a_run_that_went_on_without_its_controller_counts(cluster: Cluster) -> None:
    cluster.ignore_machine()
    given = json.dumps({**parameters(cluster, HANG="1,1"), "preflight": True})
    controller = cluster.start("playbooks/sweep.yml", "-e", given)
    wait_for(lambda: bool(runs(cluster)), "the first run is known", 120)
    [run_id] = runs(cluster)
    cluster.wait_phase(run_id, "running")
    os.killpg(controller.pid, signal.SIGKILL)
    controller.wait()
    refused = cluster.launch()
    assert "is held by run" in refused.out
    again = cluster.start("playbooks/sweep.yml", "-e", given)
    time.sleep(5)  # it follows the run, which goes on
    (cluster.home / "cure").touch()
    out, _err = again.communicate(timeout=300)
    assert again.returncode == 0, out
    assert outcomes(cluster) == ["succeeded"] * 4
    assert swept(cluster).points[0].run_id == run_id
    assert len(runs(cluster)) == 4


def test_two_commands_do_not_run_one_sweep(cluster: Cluster) -> None:
    given = json.dumps(parameters(cluster, HANG="1,1"))
    first = cluster.start("playbooks/sweep.yml", "-e", given)
    try:
        wait_for(lambda: bool(runs(cluster)), "the first run is known")
        played = cluster.play("playbooks/sweep.yml", "-e", given)
        assert played.rc == 2
        assert any("another command runs this sweep" in line for line in played.messages)
    finally:
        (cluster.home / "cure").touch()
        out, _err = first.communicate(timeout=300)
    assert first.returncode == 0, out
    assert outcomes(cluster) == ["succeeded"] * 4
