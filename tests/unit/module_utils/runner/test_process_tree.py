# SPDX-License-Identifier: GPL-3.0-or-later
"""Telling processes apart, and signaling one of them only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process, parse_stat

STAT = "4242 (a) (b c) S 1 4242 4242 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 98765 1000 10 18446744073709551615"


def test_stat_with_a_name_that_looks_like_fields() -> None:
    process = parse_stat(STAT)
    assert process == Process(pid=4242, ppid=1, start_time=98765, state="S", session=4242)


def test_an_invalid_stat_is_none() -> None:
    assert parse_stat("") is None
    assert parse_stat("4242 (x) S 1 2") is None


def sleeper(**marks: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env={**os.environ, **marks})


def test_only_the_marked_processes_are_of_the_run() -> None:
    ours = {"MUSTER_RUN_ID": "r1", "MUSTER_RUN_DIR": "/x/r1", "MUSTER_NONCE": "n1"}
    others = [ours | {"MUSTER_RUN_ID": "r2"}, ours | {"MUSTER_RUN_DIR": "/y/r1"}, {}]
    with sleeper(**ours) as mine:
        strangers = [sleeper(**marks) for marks in others]
        try:
            assert [process.pid for process in process_tree.processes_of("r1", "/x/r1")] == [mine.pid]
            assert [process.pid for process in process_tree.processes_of("r1", "/x/r1", "n1")] == [mine.pid]
            assert process_tree.processes_of("r1", "/x/r1", "n2") == []
        finally:
            for process in [mine, *strangers]:
                process.kill()
                process.wait()


def test_what_lost_all_other_marks_is_known_by_its_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch, earlier = (process_tree.unit_name("r1", "/x/r1", nonce * 32) for nonce in "ab")
    elsewhere = process_tree.unit_name("r1", "/y/r1", "a" * 32)
    processes = {
        101: ("", f"0::/system.slice/{launch}.service"),
        102: ("", f"1:name=systemd:/user.slice/user-1.slice/user@1.service/app.slice/{earlier}.service\n0::/"),
        103: ("", f"0::/system.slice/{elsewhere}.service"),  # another node's, on the same machine
        104: ("SERVICE_RESULT=signal", f"0::/system.slice/{launch}.service"),  # records how the runner ended
        105: ("HOME=/root", "0::/system.slice/cron.service"),
    }
    for pid, (variables, groups) in processes.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(STAT.replace("4242", str(pid)))
        (tmp_path / str(pid) / "environ").write_text(variables)
        (tmp_path / str(pid) / "cgroup").write_text(f"{groups}\n")
    monkeypatch.setattr(process_tree, "PROC", str(tmp_path))
    assert {process.pid for process in process_tree.processes_of("r1", "/x/r1")} == {101, 102}
    assert [process.pid for process in process_tree.processes_of("r1", "/x/r1", "a" * 32)] == [101]


def test_a_reused_pid_is_never_signaled() -> None:
    with sleeper() as child:
        now = process_tree.look(child.pid)
        assert now is not None
        assert not process_tree.send(replace(now, start_time=now.start_time - 1), signal.SIGKILL)
        assert child.poll() is None
        assert process_tree.send(now, signal.SIGKILL)
        assert child.wait(10) == -signal.SIGKILL
        assert not process_tree.send(now, signal.SIGKILL)


def test_a_zombie_does_not_count() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_tree.look(child.pid) is None
    child.wait()


def test_descendants_are_found_below_a_shell() -> None:
    sleep = "import time; time.sleep(600)"
    code = f"import subprocess as s,sys; p=s.Popen([sys.executable,'-c',{sleep!r}]); print(p.pid, flush=True); p.wait()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        grandchild = int(parent.stdout.readline())
        pids = {process.pid for process in process_tree.descendants(os.getpid())}
        assert {parent.pid, grandchild} <= pids
        os.kill(grandchild, signal.SIGKILL)
