# SPDX-License-Identifier: GPL-3.0-or-later
"""What real processes answer that are asked for their recorded collectives."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.plugins.module_utils.runner.stacks import handler, parse, recorder, sitecustomize

pytestmark = pytest.mark.slow

SOURCE = Path(str(sitecustomize.__file__))
WATCHED = {"RANK": "3", "MUSTER_HANG_WATCH": "120"}
# torch's module as far as it matters, in a process that then does something.
FAKE = """
import ctypes, os, sys, time, types

answers = iter([b'{"entries": [1, 2, 3]}', b'{"entries": [4]}'])
module = types.SimpleNamespace(_dump_fr_trace_json=lambda: next(answers), _dump_nccl_trace_json=lambda: b"{}")
sys.modules["torch._C._distributed_c10d"] = module
os.write(1, b"ready\\n")
"""
SLEEP = "time.sleep(60)"
TEXT = "of the program itself"
Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    archive, begun = tmp_path / "site.zip", []
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr(SOURCE.name, SOURCE.read_text())

    def start_one(program: str, variables: dict[str, str] | None = None) -> Process:
        given = WATCHED if variables is None else variables
        environment = {**{name: value for name, value in os.environ.items() if name not in WATCHED}, **given}
        child = subprocess.Popen(
            [sys.executable, "-c", program], env={**environment, "PYTHONPATH": str(archive)}, stdout=subprocess.PIPE
        )
        begun.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        process = process_tree.look(child.pid)
        assert process is not None
        return process

    yield start_one
    for child in begun:
        child.kill()
        child.communicate()


def traces(processes: list[Process]) -> dict[int, str]:
    return {pid: answer.trace for pid, answer in recorder.ask(processes).items()}


def test_each_question_has_its_own_answer(start: Start) -> None:
    process = start(FAKE + SLEEP)
    assert traces([process]) == {process.pid: '{"entries": [1, 2, 3]}'}
    assert traces([process]) == {process.pid: '{"entries": [4]}'}
    assert traces([process]) == {process.pid: ""}  # an error there is no answer of torch's


def test_a_rank_says_nothing_of_it() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, SOURCE.name).write_text(SOURCE.read_text())
        variables = {**os.environ, **WATCHED, "PYTHONPATH": folder, "PYTHONWARNINGS": "always"}
        done = subprocess.run([sys.executable, "-c", "pass"], env=variables, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_rank_without_torch_has_recorded_nothing(start: Start) -> None:
    process = start(f"import os, time; os.write(1, b'ready\\n'); {SLEEP}")
    assert traces([process]) == {process.pid: ""}


@pytest.mark.parametrize("variables", [{}, {"RANK": "0"}, {"MUSTER_HANG_WATCH": "120"}], ids=str)
def test_only_ranks_of_watched_runs_can_be_asked(start: Start, variables: dict[str, str]) -> None:
    assert recorder.ask([start(FAKE + SLEEP, variables)]) == {}


@pytest.mark.parametrize(
    "what",
    ["os.closerange(3, 99)", "os.closerange(3, 99); [os.open('/dev/null', os.O_RDWR) for _ in range(20)]"],
    ids=["closed", "reused"],
)
def test_a_program_that_closes_all_files_is_left_alone(start: Start, what: str) -> None:
    program = FAKE.replace('os.write(1, b"ready\\n")', f'{what}\nos.write(1, b"ready\\n")')
    process = start(program + SLEEP)
    assert recorder.ask([process]) == {}
    assert process_tree.look(process.pid) is not None


def test_files_that_get_the_numbers_of_closed_ones_are_not_touched(start: Start, tmp_path: Path) -> None:
    names, end = [str(tmp_path / f"file{number}") for number in range(8)], tmp_path / "end"
    for name in names:
        Path(name).write_text(TEXT)
    start(
        "import os, time\n"
        "os.closerange(3, 64)\n"
        f"files = [os.open(name, os.O_RDWR) for name in {names!r}]\n"
        "while len(os.listdir('/proc/self/task')) > 1:\n"
        "    time.sleep(0.05)\n"
        "offsets = [os.lseek(file, 0, os.SEEK_CUR) for file in files]\n"
        f"with open({str(end)!r}, 'w') as stream:\n"
        "    stream.write(repr(offsets))\n"
        f"os.write(1, b'ready\\n')\n{SLEEP}"
    )
    assert end.read_text() == repr([0] * 8)
    assert {Path(name).read_text() for name in names} == {TEXT}


def test_a_rank_says_where_its_threads_are(start: Start) -> None:
    process = start(
        "import os, threading, time\n"
        "begun = threading.Event()\n"
        "def load():\n    begun.set()\n    time.sleep(60)\n"
        "def train():\n    begun.wait()\n    os.write(1, b'ready\\n'); time.sleep(60)\n"
        "threading.Thread(target=load, name='feeder', daemon=True).start()\n"
        "train()\n"
    )
    main, feeder = recorder.ask([process])[process.pid].threads
    assert (main.main, main.name, feeder.main, feeder.name) == (True, "MainThread", False, "feeder")
    assert [(frame.function, frame.line) for frame in main.frames] == [("train", 8), ("<module>", 10)]
    assert "load" in [frame.function for frame in feeder.frames]


def test_a_signal_that_the_program_waits_for_is_not_taken_by_the_thread(start: Start) -> None:
    process = start(
        "import os, signal, time\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\n"
        "signal.sigwait({signal.SIGUSR1})\n"
        f"os.write(1, b'ready\\n')\n{SLEEP}"
    )
    assert recorder.ask([process])


def test_a_rank_with_busy_threads_survives_many_questions(start: Start) -> None:
    process = start(
        "import os, threading, time\n"
        "def recurse(depth):\n    return depth and recurse(depth - 1)\n"
        "def spin():\n    while True:\n        recurse(50)\n"
        "for _ in range(2):\n    threading.Thread(target=spin, daemon=True).start()\n"
        f"os.write(1, b'ready\\n')\n{SLEEP}"
    )
    for _question in range(40):
        assert len(recorder.ask([process])[process.pid].threads) == 3


def test_a_rank_whose_interpreter_is_locked_gives_no_answer_and_others_do(start: Start) -> None:
    locked, free = start(FAKE + "ctypes.PyDLL(None).sleep(60)"), start(FAKE + SLEEP)
    assert traces([locked, free]) == {free.pid: '{"entries": [1, 2, 3]}'}


def test_the_thread_that_answers_is_not_one_of_the_program(start: Start) -> None:
    process = start(FAKE + SLEEP)
    assert len(parse.parse_faulthandler(handler.ask([process])[process.pid])) == 1


def test_the_program_ends_although_the_thread_waits(start: Start, tmp_path: Path) -> None:
    permission = tmp_path / "permission"
    loop = f"while not os.path.exists({str(permission)!r}):\n    time.sleep(0.01)"
    process = start(f"import os, time\nos.write(1, b'ready\\n')\n{loop}")
    permission.touch()
    os.waitpid(process.pid, 0)
