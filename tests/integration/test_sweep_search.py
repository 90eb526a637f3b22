# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb sweep where it searches, and where it stops runs that are clearly worse, on real runs."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._sweep import record
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Sweep
from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    defaults = {"script": "surface.py", "launcher": "python", "nproc": 1}
    cluster = Cluster(tmp_path, policy={"launch_defaults": defaults})
    try:
        yield cluster
    finally:
        cluster.destroy()


def swept(cluster: Cluster) -> Sweep:
    """Return what is kept of the only sweep."""
    [path] = cluster.experiments.glob("sweep_*/sweep.yml")
    return record.load(path.read_text())


def test_a_search_whose_controller_was_killed_goes_on(cluster: Cluster) -> None:
    axes = {"env.A": ["0", "1", "2"], "env.B": ["0", "1", "2"]}
    asked = {"sweep": axes, "search": "tpe", "trials": 4, "objective": "loss", "preflight": False, "output": "json"}
    cluster.ignore_machine()
    given = json.dumps({**asked, "env": {"CURE": str(cluster.home / "cure"), "STEPS": "6"}})
    controller = cluster.start("playbooks/sweep.yml", "-e", given)
    wait_for(lambda: len(list(cluster.experiments.glob("sweep_*/surface_*/run.yml"))) == 2, "the second run", 120)
    os.killpg(controller.pid, signal.SIGKILL)
    controller.wait()
    before = swept(cluster)
    [study] = cluster.experiments.glob("sweep_*/study.db")
    study.write_bytes(b"damaged")

    played = cluster.play("playbooks/sweep.yml", "-e", given)
    assert played.rc == 0, played.out
    document = json.loads(played.out[played.out.index("{\n") :])
    assert documents.errors(document) == []
    assert (document["search"], document["trials"], document["best"]["count"]) == ("tpe", 4, 1)
    after = swept(cluster)
    assert [point.outcome for point in after.chosen] == ["succeeded"] * 4
    assert [point.run_id for point in after.chosen[:2]] == [point.run_id for point in before.chosen]
    assert len(list(cluster.experiments.glob("sweep_*/surface_*/run.yml"))) == 4
    assert study.read_bytes().startswith(b"SQLite format 3")
    [page] = cluster.experiments.glob("sweep_*/report.html")
    assert "4 of 9" in page.read_text()


def test_a_run_that_is_clearly_worse_is_stopped_and_not_run_again(cluster: Cluster) -> None:
    asked = {"sweep": {"env.A": ["1", "2", "3", "0", "9"]}, "prune": True, "objective": "loss", "preflight": False}
    env = {"B": "1", "CURE": str(cluster.home / "cure"), "STEPS": "8", "STALL": "9,1"}
    played = cluster.verb("sweep", **asked, env=env)
    assert played.rc == 0, played.out
    assert [point.outcome for point in swept(cluster).points] == ["succeeded"] * 4 + ["pruned"]
    pruned = swept(cluster).points[4]
    assert (pruned.value, pruned.curve and set(pruned.curve.values())) == (None, {49.0})
    assert cluster.processes(pruned.run_id or "") == []
    assert "4 of 5 runs succeeded, 1 pruned" in played.out

    again = cluster.verb("sweep", **asked, env=env)
    assert again.rc == 0, again.out
    assert swept(cluster) == record.load(record.dump(swept(cluster)))
    assert swept(cluster).points[4] == pruned
