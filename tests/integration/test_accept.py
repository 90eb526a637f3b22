# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb accept on two nodes of this machine: accepted, then refused by a threshold, with what has changed."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for

# Of two nodes neither can be named as the slow one, which does not keep them from being accepted.
PASSED = {**dict.fromkeys(("preflight", "intra", "rails", "all"), "pass"), "pairs": "unknown"}
# Whatever this machine does meanwhile: no gloo is so slow, and none so fast.
SLOWEST, FASTEST = 1e-6, 1e6
SMALL = {"nproc": 2, "max_bytes": "64K", "iterations": 2, "rounds": 2}


def expected(**figures: float) -> dict[str, Any]:
    """Return a profile with the least bandwidth of each stage in GB/s."""
    return {name: {"busbw_gb_per_s": figure, "source": f"the test of {name}"} for name, figure in figures.items()}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    cluster.policy["launch_env"] = {"OMP_NUM_THREADS": "1"}
    cluster.ignore_machine()
    try:
        yield cluster
    finally:
        cluster.destroy()


def accept(cluster: Cluster, code: int, profile: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    """Accept the cluster; return the document, which has to be that of its schema."""
    cluster.policy["launch_acceptance"] = profile
    cluster.write()
    command = cluster.command("playbooks/accept.yml", "-e", json.dumps({**SMALL, "output": "json", **parameters}))
    done = subprocess.run(command, env=cluster.environment(), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert documents.errors(document) == []
    known: dict[str, Any] = document["acceptance"]
    assert json.loads(Path(document["folder"], "accept.json").read_text()) == known
    return document


@pytest.mark.timeout(900)
def test_a_cluster_is_accepted_then_fails_a_threshold_and_says_what_has_changed(cluster: Cluster) -> None:
    document = accept(cluster, 0, expected(intra=SLOWEST, rails=SLOWEST, all=SLOWEST))
    first = document["acceptance"]
    assert {stage["name"]: stage["verdict"] for stage in first["stages"]} == PASSED, first
    assert (first["verdict"], first["is_complete"], first["against"]) == ("pass", True, None)
    home = Path(document["folder"])
    for stage in first["stages"][1:]:
        assert (home / stage["run_id"] / "run.yml").is_file()
    assert (home / "preflight.html").is_file()
    assert "the test of rails" in (home / "accept.html").read_text()

    document = accept(cluster, 2, expected(intra=SLOWEST, rails=FASTEST, all=SLOWEST))
    second = document["acceptance"]
    verdicts = {stage["name"]: stage["verdict"] for stage in second["stages"]}
    assert verdicts == {**PASSED, "rails": "fail"}, second
    assert (second["verdict"], second["against"]) == ("fail", first["accept_id"])
    assert [error["message"].partition(":")[0] for error in document["errors"]] == [second["accept_id"]]
    changed = {(item["stage"], item["subject"]): (item["before"], item["now"]) for item in second["changes"]}
    assert changed["rails", "verdict"] == ("pass", "fail")
    assert ("rails", "expected") in changed
    compared = [item["stage"] for item in second["changes"] if item["percent"] is not None]
    assert compared == ["intra", "rails", "all"]
    listed = cluster.verb("list")
    assert listed.rc == 0 and "accept_" not in listed.out


def test_ctrl_c_stops_the_run_of_a_stage_and_leaves_a_report(cluster: Cluster) -> None:
    process = cluster.start("playbooks/accept.yml", "-e", json.dumps({**SMALL, "iterations": 100_000}))
    wait_for(lambda: bool(cluster.processes()), "the ranks of a stage run", 120)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=180)
    assert process.returncode == 2
    [path] = cluster.experiments.glob("accept_*/accept.json")
    known = json.loads(path.read_text())
    assert [stage["verdict"] for stage in known["stages"]] == ["pass", *["unknown"] * 4]
    assert (known["is_complete"], known["verdict"]) == (False, "unknown")
    assert path.with_name("accept.html").is_file()
    wait_for(lambda: not cluster.processes(), "the ranks have ended", 60)
