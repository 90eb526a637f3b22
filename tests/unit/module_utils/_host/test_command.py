# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands: what came of them, and what is left of them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host import command
from ansible_collections.muster.train.plugins.module_utils._host.command import (
    CommandResult,
    child_ended,
    run_command,
    spawn_detached,
)

PYTHON = sys.executable
# Far beyond what a test may take: who waits for it hangs the test.
FOREVER = "3600"


def eventually(condition: Callable[[], bool]) -> bool:
    for _try in range(400):
        if condition():
            return True
        time.sleep(0.05)
    return False


def is_gone(pid: int) -> bool:
    """A zombie is gone: whoever adopted it may not have looked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends while it is read
        return True


def test_a_command_that_ends() -> None:
    assert run_command(["sh", "-c", "echo out; echo err >&2; exit 3"]) == CommandResult(3, "out\n", "err\n")


def test_arguments_are_data() -> None:
    assert run_command(["printf", "%s", "$(id); `id`\n*"]).out == "$(id); `id`\n*"


@pytest.mark.parametrize("argv", [["/no/such/command"], ["no-such-command"], ["/"], ["echo", "a\0b"]])
def test_a_command_that_cannot_be_started(argv: list[str]) -> None:
    result = run_command(argv)
    assert (result.missing, result.rc, result.out) == (True, None, "")
    assert result.err


def test_it_has_no_input_no_terminal_and_the_c_locale() -> None:
    script = "import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()), os.environ['LC_ALL'])"
    assert run_command([PYTHON, "-c", script], timeout=60).out == "True '' C\n"


def test_large_output_that_is_not_text() -> None:
    result = run_command(
        [PYTHON, "-c", "import os; os.write(1, b'\\xff' * 70000); os.write(2, b'e' * 70000)"], timeout=60
    )
    assert result.out == "\ufffd" * 70000
    assert result.err == "e" * 70000


def test_output_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "OUTPUT_LIMIT", 100000)
    result = run_command(["yes"], timeout=0.5)
    assert result.timed_out
    assert len(result.out) == 100000


def test_a_command_that_hangs_is_given_up_with_all_it_started(tmp_path: Path) -> None:
    script = f"echo begun; sleep {FOREVER} & echo $! > {tmp_path}/pid; trap '' TERM; wait"
    # Long enough for a shell to write a file on a loaded machine.
    result = run_command(["sh", "-c", script], timeout=3)
    assert result == CommandResult(None, "begun\n", "", timed_out=True)
    assert eventually(lambda: is_gone(int((tmp_path / "pid").read_text())))


def test_a_command_that_cannot_be_killed_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda pid, _signal: tried.append(pid))
    assert run_command(["sleep", FOREVER], timeout=0.1).timed_out
    assert len(tried) == 1
    assert not is_gone(tried[0])
    os.kill(tried[0], signal.SIGKILL)
    os.waitpid(tried[0], 0)


def test_a_command_that_closes_its_output_and_hangs() -> None:
    assert run_command(["sh", "-c", f"exec >&- 2>&-; sleep {FOREVER}"], timeout=0.5).timed_out


def test_a_child_left_in_the_background_does_not_hide_that_the_command_ended(tmp_path: Path) -> None:
    result = run_command(["sh", "-c", f"sleep {FOREVER} & echo $! | tee {tmp_path}/pid; exit 4"], timeout=0.5)
    pid = int((tmp_path / "pid").read_text())
    assert result == CommandResult(4, f"{pid}\n", "")
    os.kill(pid, signal.SIGKILL)


def test_spawn_detached(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    script = (
        "import os, sys; print(os.getsid(0) == os.getpid(), os.getcwd(), repr(sys.stdin.read()), flush=True);"
        "os.write(2, b'error\\n'); print(sorted(os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))"
    )
    pid = spawn_detached([PYTHON, "-c", script], str(log), str(tmp_path))
    assert eventually(lambda: child_ended(pid))
    # The fourth descriptor is listdir's own.
    assert log.read_text() == f"before\nTrue {tmp_path} ''\nerror\n['0', '1', '2'] 4\n"
    os.close(writer)
    os.close(reader)
    assert child_ended(pid)


def test_a_spawned_process_is_not_ended_while_it_lives(tmp_path: Path) -> None:
    pid = spawn_detached(["sleep", FOREVER], str(tmp_path / "log"), "/")
    assert not child_ended(pid)
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: child_ended(pid))
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_spawn_says_why_it_cannot(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        spawn_detached(["/no/such/command"], str(tmp_path / "log"), "/")


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (CommandResult(9, "the driver is gone\nmore\n", "\n"), "the driver is gone"),
        (CommandResult(128, "x", "fatal: broken\nhint: repair it\n"), "fatal: broken"),
        (CommandResult(1, "", "WARNING: old\nsudo: no password\n"), "sudo: no password"),
        (CommandResult(1, "", "Traceback (most recent call last):\n  File x\nImportError: lib\n"), "ImportError: lib"),
        (CommandResult(125, "", "docker: Error response from daemon: no image\n\nRun 'docker --help'\n"), "no image"),
        (CommandResult(1, "", "x" * 1000), "x" * 300),
    ],
)
def test_why_a_command_failed(result: CommandResult, why: str) -> None:
    assert result.why(2.5) == why
