# SPDX-License-Identifier: GPL-3.0-or-later
"""The stacks of real processes that carry a run's mark."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.stacks import RankStacks
from ansible_collections.muster.train.plugins.module_utils.runner import main
from ansible_collections.muster.train.plugins.module_utils.runner.stacks import sitecustomize
from ansible_collections.muster.train.plugins.module_utils.runner.stacks.take import take_stacks

pytestmark = pytest.mark.slow

RUN_ID = "stacks_run"
HANG = """
import os, threading, time

def wait_for_peers():
    os.write(1, b"ready\\n")  # at once, as two processes may do it
    time.sleep(60)

threading.Thread(target=lambda: time.sleep(60), daemon=True, name="feeder").start()
wait_for_peers()
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run's directory with what its Python processes import."""
    run_dir = tmp_path / RUN_ID
    run_dir.mkdir()
    with zipfile.ZipFile(run_dir / "site.zip", "w") as archive:
        archive.write(str(sitecustomize.__file__), "sitecustomize.py")
    return run_dir


@pytest.fixture
def start(run_dir: Path) -> Iterator[Start]:
    """Start a process of the run; it is over with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(*argv: str, **variables: str) -> subprocess.Popen[str]:
        marks = {"MUSTER_RUN_ID": RUN_ID, "MUSTER_RUN_DIR": str(run_dir), "PYTHONPATH": str(run_dir / "site.zip")}
        process = subprocess.Popen(
            argv, env={**os.environ, **marks, **variables}, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(process)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def take(run_dir: Path, rank: int | None = None) -> list[RankStacks]:
    return take_stacks(RUN_ID, str(run_dir), sys.executable, rank)


@pytest.fixture
def without_py_spy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No py-spy on PATH; there is none beside the interpreter of the tests."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "sleep"):
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def functions(stacks: RankStacks) -> list[list[str | None]]:
    return [[frame.function for frame in thread.frames] for thread in stacks.threads]


@pytest.mark.usefixtures("without_py_spy")
def test_each_rank_says_where_it_is(run_dir: Path, start: Start) -> None:
    second = start(sys.executable, "-c", HANG, RANK="1")
    start(sys.executable, "-c", HANG, RANK="0")
    ranks = take(run_dir)
    assert [stacks.rank for stacks in ranks] == [0, 1]
    assert ranks[1].pid == second.pid
    assert [stacks.source for stacks in ranks] == ["faulthandler"] * 2
    assert functions(ranks[0])[0] == ["wait_for_peers", "<module>"]
    assert len(ranks[0].threads) == 2
    assert ranks[0].why == "py-spy is not installed"
    assert functions(take(run_dir)[1]) == functions(ranks[1])  # asked again, and still alive
    assert [stacks.rank for stacks in take(run_dir, 1)] == [1]


@pytest.mark.usefixtures("without_py_spy")
def test_a_watched_rank_answers_itself_and_only_one_that_does_not_is_sent_the_signal(
    run_dir: Path, start: Start
) -> None:
    locked = "import ctypes, os\nos.write(1, b'ready\\n')\nctypes.PyDLL(None).sleep(60)\n"
    start(sys.executable, "-c", HANG, RANK="0", MUSTER_HANG_WATCH="120")
    start(sys.executable, "-c", locked, RANK="1", MUSTER_HANG_WATCH="120")
    ranks = take(run_dir)
    assert [(stacks.source, functions(stacks)[0][0]) for stacks in ranks] == [
        ("answer", "wait_for_peers"),
        ("faulthandler", "<module>"),
    ]
    assert ranks[0].why is None


@pytest.mark.usefixtures("without_py_spy")
def test_the_zipapp_prints_them_inside_a_container(
    run_dir: Path, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    start(sys.executable, "-c", HANG, RANK="0")
    assert main.main([str(run_dir), "0" * 32, "stacks", "0"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert RankStacks.several(printed)[0].threads[0].frames[0].function == "wait_for_peers"


@pytest.mark.usefixtures("without_py_spy")
def test_the_heartbeat_says_which_process_is_a_rank(run_dir: Path, start: Start) -> None:
    # In the environment, as the kernel shows it, a title of the process may stand instead.
    other, rank = start(sys.executable, "-c", HANG), start(sys.executable, "-c", HANG)
    (run_dir / "state.json").write_text(json.dumps({"phase": "running", "first_rank": 6}))
    (run_dir / "heartbeat.json").write_text(json.dumps({"pids": [rank.pid, 1]}))
    assert [(stacks.rank, stacks.pid) for stacks in take(run_dir)] == [(6, rank.pid)]
    (run_dir / "heartbeat.json").write_text(json.dumps({"pids": None}))
    processes = sorted((other.pid, rank.pid))
    assert sorted((stacks.pid or 0) for stacks in take(run_dir) if stacks.rank is None) == processes


@pytest.mark.usefixtures("without_py_spy")
def test_a_rank_behind_a_shell_is_found_and_its_workers_are_not_ranks(run_dir: Path, start: Start) -> None:
    program = "import multiprocessing, time\nmultiprocessing.Process(target=time.sleep, args=(60,)).start()\n"
    shell = start("/bin/sh", "-c", f"'{sys.executable}' -c \"$PROGRAM\"; :", RANK="0", PROGRAM=program + HANG)
    ranks = take(run_dir)
    assert [stacks.rank for stacks in ranks] == [0]
    assert ranks[0].pid != shell.pid
    assert functions(ranks[0])[0] == ["wait_for_peers", "<module>"]


@pytest.mark.usefixtures("without_py_spy")
def test_processes_that_were_forked_answer_one_after_the_other(run_dir: Path, start: Start) -> None:
    program = "import os\nos.fork()\n" + HANG
    process = start(sys.executable, "-c", program)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    both = take(run_dir)
    assert len(both) == 2
    assert {functions(stacks)[0][0] for stacks in both} == {"wait_for_peers"}
    assert [len(stacks.threads) for stacks in both] == [2, 2]


@pytest.mark.usefixtures("without_py_spy")
def test_a_rank_that_gives_no_answer_is_explained_and_lives(run_dir: Path, start: Start) -> None:
    shell = start("sh", "-c", "echo ready; exec sleep 60", RANK="0")
    stopped = start(sys.executable, "-c", HANG, RANK="1")
    stopped.send_signal(signal.SIGSTOP)
    ranks = take(run_dir)
    assert [(stacks.source, stacks.threads) for stacks in ranks] == [(None, [])] * 2
    assert str(ranks[0].why).startswith("its process is not one of Python")
    assert "it is stopped (state T)" in str(ranks[1].why)
    assert str(ranks[1].why).endswith("; py-spy is not installed")
    assert (shell.poll(), stopped.poll()) == (None, None)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'Error: Permission Denied' >&2; echo Backtrace >&2; exit 1", "py-spy: Error: Permission Denied"),
        ("echo '[]'", "py-spy: exit code 0"),
    ],
)
def test_a_py_spy_that_fails_leaves_it_to_faulthandler(
    run_dir: Path, start: Start, tmp_path: Path, script: str, why: str
) -> None:
    start(sys.executable, "-c", HANG, RANK="0")
    program = tmp_path / "venv" / "py-spy"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    (stacks,) = take_stacks(RUN_ID, str(run_dir), str(program.with_name("python")))
    assert (stacks.source, stacks.why) == ("faulthandler", why)
    assert functions(stacks)[0] == ["wait_for_peers", "<module>"]


@pytest.mark.skipif(shutil.which("py-spy") is None, reason="needs py-spy on PATH")
def test_py_spy_reads_a_python_that_has_no_handler(run_dir: Path, start: Start) -> None:
    start(sys.executable, "-I", "-c", HANG, RANK="0")
    (stacks,) = take(run_dir)
    assert (stacks.source, stacks.why) == ("py-spy", None)
    assert [thread.name for thread in stacks.threads] == ["MainThread", "feeder"]
    assert functions(stacks)[0] == ["wait_for_peers", "<module>"]
