# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a run that wrote over their environment, as setproctitle does: they are known by other marks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, wait_for

pytestmark = pytest.mark.slow

# Fields 50 and 51 of proc_pid_stat(5) are where the kernel reads a process's environment.
REWRITES = """
import ctypes, signal, subprocess, sys, time
start, end = map(int, open("/proc/self/stat").read().rpartition(")")[2].split()[47:49])
ctypes.memset(start, 0, end - start)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("rewritten", flush=True)
open(sys.argv[1], "w").close()
"""
WAITS = REWRITES + "time.sleep(600)"
STARTS = REWRITES + "subprocess.run(['/usr/bin/env', '-i', '/bin/sleep', '600'], start_new_session=True)"


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for child in started:
        child.kill()
        child.wait()


@pytest.mark.parametrize("code", [WAITS, STARTS], ids=["alone", "with a child"])
def test_stop_ends_ranks_that_rewrote_their_environment_under_a_killed_runner(
    tmp_path: Path, code: str, children: list[subprocess.Popen[bytes]]
) -> None:
    ready = tmp_path / "ready"
    job = make_job(tmp_path, [sys.executable, "-c", code, str(ready)])
    runner = spawn(job)
    children.append(runner)
    wait_for(ready.exists, "the rank has rewritten its environment", 60)
    below = 1 if code == WAITS else 2
    ranks = wait_for(lambda: _below(runner.pid, below), "all its processes run", 60)
    assert process_tree.environment(ranks[0].pid) == {}
    runner.send_signal(signal.SIGKILL)
    runner.wait(60)
    assert {process.pid for process in process_tree.processes_of(job.run_id, job.run_dir)} == {
        rank.pid for rank in ranks
    }
    assert process_tree.processes_of(job.run_id, job.run_dir, "b" * 32) == []
    swept = stop(Host(), job.node, job.workdir, job.run_id, None, 1.0, False, ["docker"])[2]
    assert (swept.swept, swept.unkillable) == (below, [])
    assert [rank for rank in ranks if process_tree.look(rank.pid)] == []


def _below(pid: int, count: int) -> list[Process] | None:
    processes = process_tree.descendants(pid)
    return processes if len(processes) == count else None


def test_a_rank_is_known_by_its_pipe_and_a_reader_of_its_log_is_not(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    pipe, log, ready = tmp_path / "pipes" / "rank_0", tmp_path / "logs" / "rank_00.log", tmp_path / "ready"
    for folder in (pipe.parent, log.parent):
        folder.mkdir()
    os.mkfifo(pipe)
    log.touch()
    with pipe.open("r+b", buffering=0) as to_log, log.open("rb") as from_log:
        for name, stdin, stdout in (("rank", None, to_log), ("reader", from_log, None)):
            argv = [sys.executable, "-c", WAITS, f"{ready}.{name}"]
            children.append(subprocess.Popen(argv, stdin=stdin, stdout=stdout))
            wait_for(Path(f"{ready}.{name}").exists, f"the {name} has rewritten its environment", 60)
    assert [process.pid for process in process_tree.processes_of("r1", str(tmp_path))] == [children[0].pid]
