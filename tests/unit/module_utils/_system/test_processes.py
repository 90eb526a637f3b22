# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that matter to a run: of runs, hung."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.health import (
    HungProcess,
    Processes,
    RunProcess,
)
from ansible_collections.muster.train.plugins.module_utils._system import processes
from ansible_collections.muster.train.plugins.module_utils._system.processes import (
    parse_mark,
    parse_switches,
    read_processes,
)
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine

RUN = "multinode_20261120_143052"


def process(
    pid: int, name: str, state: str = "S", environ: str = "", cmdline: str = "x\0", switches: int = 5
) -> dict[str, str]:
    return {
        f"/proc/{pid}/stat": f"{pid} ({name}) {state} 1 " + " ".join(["0"] * 17) + f" {pid * 100} 0 0\n",
        f"/proc/{pid}/comm": f"{name}\n",
        f"/proc/{pid}/environ": environ,
        f"/proc/{pid}/cmdline": cmdline,
        f"/proc/{pid}/status": f"Name:\t{name}\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t1\n",
    }


def test_leftovers_and_those_nobody_can_tell_of(tmp_path: Path) -> None:
    files = {
        **process(7, "python", environ=f"A=b\0MUSTER_RUN_ID={RUN}\0"),
        **process(70, "python", environ="NOT_MUSTER_RUN_ID=x\0"),
        **process(8, "sshd"),
        **process(9, "kworker/0:1", cmdline=""),
        **process(10, "gone", state="Z", environ=f"MUSTER_RUN_ID={RUN}\0"),
        "/proc/stat": "cpu 1 2\n",
    }
    errors = {"/proc/8/environ": "EACCES", "/proc/9/environ": "EACCES"}
    result = read_processes(Machine({"files": files, "errors": errors}, tmp_path))
    assert result == Processes(runs=[RunProcess(7, os.geteuid(), "python", RUN)], hung=[], hidden=1)


def test_who_hangs_is_asleep_and_has_not_run_in_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {**process(21, "nvidia-smi", "D"), **process(22, "cp", "D"), **process(23, "tar", "D"), **process(24, "sh")}
    files["/proc/21/wchan"] = "nvidia_open_deferred"
    host = OwnMachine({"files": files}, tmp_path)

    def later(seconds: float) -> None:
        assert seconds == processes.HUNG_S
        for path, text in {**process(22, "cp", "D", switches=6), **process(23, "tar", "R")}.items():
            (tmp_path / path.lstrip("/")).write_text(text)

    monkeypatch.setattr(time, "sleep", later)
    assert read_processes(host).hung == [HungProcess(21, "nvidia-smi", "nvidia_open_deferred")]


def test_below_another_root_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _seconds: pytest.fail("it waited"))
    host = Machine({"files": process(21, "cp", "D")}, tmp_path)
    result = read_processes(host)
    assert (result.hung, host.commands_run) == (None, [])


def test_this_machine() -> None:
    result = read_processes(Host())
    assert result.runs is not None
    assert os.getpid() not in [process.pid for process in result.runs]


def test_parsers() -> None:
    assert parse_mark("A=1\0MUSTER_RUN_ID=a=b\0") == "a=b"
    assert parse_mark("XMUSTER_RUN_ID=a\0MUSTER_RUN_IDX=b") is None
    assert parse_switches("voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n") == 7
    assert parse_switches("") is None
