# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks under a profiler that writes down what it is given: traces, exit codes, signals, stop, and a missing one."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for

HOST = socket.gethostname()


@pytest.fixture
def profilers(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Two nodes on which rocprofv3 and nsys are found."""
    folder = cluster.home / "bin"
    folder.mkdir()
    for name in ("rocprofv3", "nsys"):
        program = folder / name
        # As a program that is not one of Python: without the handler by which the ranks' stacks are taken.
        program.write_text(f"#!{sys.executable} -E\n{(WORKLOADS / 'profiler.py').read_text()}")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return cluster


def traces(cluster: Cluster, run_id: str = RUN_ID) -> dict[str, dict[str, Any]]:
    """Return what the profilers wrote down, by the path in the experiment's outputs, without process IDs."""
    outputs = cluster.experiments / run_id / "outputs"
    paths = [path for path in outputs.rglob("*") if path.name.endswith(("_trace.json", ".nsys-rep"))]
    return {re.sub(r"\d{2,}", "PID", str(path.relative_to(outputs))): json.loads(path.read_text()) for path in paths}


def test_every_rank_is_profiled_by_default(profilers: Cluster) -> None:
    launched = profilers.launch(follow=True, launcher="torchrun", nproc=2, rocprof=True, stats=True)
    assert launched.rc == 0, launched.out
    host = re.sub(r"\d{2,}", "PID", HOST)
    written = traces(profilers)
    assert sorted(written) == [f"rank_{rank}_rocprof/{host}/PID_kernel_trace.json" for rank in range(4)]
    for rank, trace in enumerate(written[name] for name in sorted(written)):
        node = f"node{rank // 2}"
        folder = f"{profilers.run_dir(node)}/outputs/rank_%env{{RANK}}%_rocprof"
        assert trace == {
            "argv": ["--kernel-trace", "--stats", "-d", folder],
            "command": [sys.executable, "-u", str(WORKLOADS / "sleeper.py")],
            "node": node,
            "rank": str(rank),
        }
    assert "rank 3 of 4 begins" in (profilers.experiments / RUN_ID / "ranks/rank_03.log").read_text()


def test_some_ranks_are_profiled(profilers: Cluster) -> None:
    chosen = {"nsys": True, "profile_ranks": [1, "2"], "profiler_args": "--trace=cuda,nvtx"}
    launched = profilers.launch(follow=True, launcher="torchrun", nproc=2, **chosen)
    assert launched.rc == 0, launched.out
    written = traces(profilers)
    assert sorted(written) == ["rank_1_nsys.PID.nsys-rep", "rank_2_nsys.PID.nsys-rep"]
    name = f"{profilers.run_dir('node1')}/outputs/rank_%q{{RANK}}_nsys.%p"
    assert written["rank_2_nsys.PID.nsys-rep"]["argv"] == ["profile", "-o", name, "--trace=cuda,nvtx"]
    metrics = sorted(path.name for path in (profilers.experiments / RUN_ID / "outputs").glob("*_metrics.jsonl"))
    assert metrics == [f"rank_{rank:02d}_metrics.jsonl" for rank in range(4)]


@pytest.mark.parametrize(("profiler", "launcher"), [("rocprof", "python"), ("nsys", "torchrun")])
def test_the_exit_code_of_a_rank_is_its_own(profilers: Cluster, profiler: str, launcher: str) -> None:
    arguments = "--seconds 60 --fail-rank 1 --how exit7"
    asked: dict[str, Any] = {profiler: True, "profile_ranks": "0-1", "launcher": launcher, "max_restarts": 1}
    failed = profilers.launch(follow=True, script_args=arguments, **asked)
    assert failed.rc != 0
    record = profilers.record()
    why = "node1: rank 1 exited with code 7; restarted 1 time, the maximum"
    assert (record["verdict"], record["why"]) == ("failed", why)
    first = profilers.state("node1")["first"]
    assert (first["rank"], first["exit_code"], first["signal"]) == (1, 7, None)
    # Of both attempts.
    paths = [path for path in (profilers.experiments / RUN_ID / "outputs").rglob("*") if path.is_file()]
    assert len([path for path in paths if "rank_1_" in str(path) and "metrics" not in path.name]) == 2


def test_a_signal_of_a_rank_is_its_own(profilers: Cluster) -> None:
    arguments = "--seconds 60 --fail-rank 1 --how segv"
    failed = profilers.launch(follow=True, launcher="torchrun", script_args=arguments, rocprof=True)
    assert failed.rc != 0
    assert profilers.record()["why"] == "node1: rank 1 killed by SIGSEGV"


@pytest.mark.parametrize("profiler", ["rocprof", "nsys"])
def test_stop_ends_the_ranks_and_their_profilers(profilers: Cluster, profiler: str) -> None:
    launched = profilers.launch(launcher="torchrun", script_args="--seconds 600", **{profiler: True})
    assert launched.rc == 0, launched.out
    wait_for(lambda: all(map(profilers.metrics, profilers.names)), "all ranks write metrics")
    shown = profilers.verb("stacks")
    assert re.search(r"^2 +0-1 +main \(sleeper\.py:\d+\)$", shown.out, re.MULTILINE), shown.out
    stopped = profilers.verb("stop")
    assert stopped.rc == 0, stopped.out
    assert [profilers.state(name)["phase"] for name in profilers.names] == ["stopped"] * 2
    assert profilers.processes() == []


def test_a_missing_profiler_is_found_before_anything_starts(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/local/sbin", "/usr/sbin", "/usr/bin", "/bin"]))
    refused = cluster.launch(launcher="torchrun", rocprof=True)
    assert refused.rc == 2
    assert "node0 and node1: profiler: rocprofv3 was not found" in refused.out
    assert not any(cluster.run_dir(name).exists() for name in cluster.names)


def test_a_sweep_with_and_without_a_profiler(profilers: Cluster) -> None:
    env = {"A": "1", "B": "1", "CURE": "none"}
    swept = profilers.verb("sweep", sweep={"rocprof": [False, True]}, stats=True, script="surface.py", env=env)
    assert swept.rc == 0, swept.out
    runs = {path.name: path for path in profilers.experiments.glob("sweep_*/surface_*")}
    counts = [len(list(runs[name].rglob("*_trace.json"))) for name in sorted(runs)]
    assert counts == [0, 2]
