# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb benchmark on two nodes of this machine, by gloo; and its program, whose results are right or found wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._report.benchmark.measured import Measured, read_measured
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import COLLECTIVES
from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.play import ROOT

SIZES = (8, 1000, 1 << 20)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    # The cluster's program is another one, and no node has Muster's.
    made = Cluster(tmp_path_factory.mktemp("benchmark"))
    yield made
    made.destroy()


def measure(cluster: Cluster, *extra: str, **parameters: Any) -> dict[str, Any]:
    """Run a benchmark of two ranks on each node, and return its document."""
    small = {"nproc": 2, "max_bytes": "64K", "factor": 64, "iterations": 3, "warmup": 1, "output": "json"}
    command = cluster.command("playbooks/benchmark.yml", "-e", json.dumps({**small, **parameters}), *extra)
    done = subprocess.run(command, env=cluster.environment(), capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert documents.errors(document) == []
    return document


def test_a_benchmark_is_a_launch_and_keeps_what_it_measured(cluster: Cluster) -> None:
    document = measure(cluster, env={"OMP_NUM_THREADS": "1"})
    assert (document["verdict"]["verdict"], document["world_size"]) == ("succeeded", 4)
    measured = document["benchmark"]
    kept = [(size["bytes"], size["count"], size["wrong"]) for size in measured["sizes"]]
    assert kept == [(8, 2, 0), (512, 128, 0), (32768, 8192, 0)]
    for size in measured["sizes"]:
        assert size["busbw_gb_per_s"] == pytest.approx(1.5 * size["bytes"] / size["time_us"] / 1e3)
        assert [group["ranks"] for group in size["groups"]] == [[0, 1, 2, 3]]
    assert measured["limit"]["gb_per_s"] is None, "nodes of one machine have no network"
    home = Path(document["experiment"])
    assert json.loads((home / "benchmark.json").read_text()) == measured
    assert (home / "benchmark.csv").read_text().count("\n") == 4

    again = measure(cluster, env={"OMP_NUM_THREADS": "1"})
    assert f"GB/s in {document['run_id']}" in (Path(again["experiment"]) / "benchmark.html").read_text()


@pytest.mark.parametrize(
    ("scope", "groups"), [("rails", [[0, 2], [1, 3]]), ("nodes", [[0, 1], [2, 3]])], ids=["rails", "nodes"]
)
def test_groups_run_at_the_same_time(cluster: Cluster, scope: str, groups: list[list[int]]) -> None:
    document = measure(cluster, scope=scope, collective="all_gather", dtype="bfloat16")
    for size in document["benchmark"]["sizes"]:
        assert [group["ranks"] for group in size["groups"]] == groups
        assert size["busbw_gb_per_s"] == min(group["busbw_gb_per_s"] for group in size["groups"])
        assert size["wrong"] == 0


def test_nothing_starts_where_a_group_has_one_rank(cluster: Cluster) -> None:
    before = sorted(cluster.experiments.glob("benchmark_*"))
    refused = cluster.verb("benchmark", collective="broadcast", nnodes=1, nproc=1)
    assert refused.rc == 2
    assert "at least two ranks for broadcast" in refused.out
    assert sorted(cluster.experiments.glob("benchmark_*")) == before


def test_check_mode_shows_what_would_run(cluster: Cluster) -> None:
    planned = measure(cluster, "--check")
    assert planned["benchmark"] is None
    argv = planned["plan"]["jobs"]["node1"]["argv"]
    assert argv[-3:] == ["8", "512", "32768"]
    assert not Path(planned["plan"]["experiment"]).exists()


def run_program(output: Path, corrupt: str) -> dict[str, Measured]:
    """Run all collectives by three ranks, and return what each has measured."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3"]
    command += [str(WORKLOADS / "collectives.py"), str(output), corrupt, *map(str, SIZES)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "collections"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    known = {name: read_measured((output / name / "benchmark.json").read_text()) for name in COLLECTIVES}
    return {name: measured for name, measured in known.items() if measured is not None}


@pytest.mark.parametrize("corrupt", [(), COLLECTIVES[::2], COLLECTIVES[1::2]], ids=["none", "some", "the others"])
def test_results_are_right_and_one_wrong_element_is_found(corrupt: Sequence[str], tmp_path: Path) -> None:
    measured = run_program(tmp_path, ",".join(corrupt))
    wrong = {name: [row.timings[0].wrong for row in known.rows] for name, known in measured.items()}
    assert wrong == {name: [1, 1, 1] if name in corrupt else [0, 0, 0] for name in COLLECTIVES}
    counts = {name: [row.count for row in known.rows] for name, known in measured.items()}
    # Of 8 bytes each of three ranks has one element at the least.
    divided, whole = [1, 83, (1 << 18) // 3], [2, 250, 1 << 18]
    assert counts == {
        name: divided if name in ("all_gather", "reduce_scatter", "all_to_all") else whole for name in COLLECTIVES
    }
