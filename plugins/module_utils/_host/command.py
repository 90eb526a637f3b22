# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands: run one within a time limit, or start one detached."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence

from .._records.frozen import frozen

# More than any tool prints about a machine; the rest of a runaway command's output is read and dropped.
OUTPUT_LIMIT = 16 * 1024 * 1024
# A killed process needs a moment to end; one that hangs in the kernel is abandoned.
REAP_S = 0.2
LINE_LIMIT = 300
DAEMON = "Error response from daemon: "


@frozen
class CommandResult:
    """The result of a command; rc is None if it could not be started (missing) or was abandoned (timed_out)."""

    rc: int | None
    out: str
    err: str
    timed_out: bool = False
    missing: bool = False

    def why(self, timeout_s: float) -> str:
        """Return in one line why the command failed; timeout_s is the time that it had.

        What Docker's daemon answered, or the last line of a traceback, or the first line: of stderr, else of stdout.
        """
        if self.missing:
            return "not found"
        if self.timed_out:
            return f"no answer within {round(timeout_s, 1):g} s" if timeout_s else "there was no time left"
        for text in (self.err, self.out):
            lines = [line.strip() for line in text[:65536].splitlines()]
            lines = [line for line in lines if line and not line.startswith(("{", "WARNING"))]
            if lines:
                # What follows the daemon's answer repeats it, or recommends --help.
                answers = [line.partition(DAEMON)[2] for line in lines if DAEMON in line]
                place = -1 if any(line.startswith("Traceback ") for line in lines) else 0
                return (answers or lines)[place][:LINE_LIMIT]
        return f"exit code {self.rc}" if self.rc else "no output"


NO_ANSWER = CommandResult(None, "", "", timed_out=True)


def run_command(argv: Sequence[str], timeout: float = 5.0, cwd: str | None = None) -> CommandResult:
    """Run argv in the C locale without input. A command that hangs is killed if it can be, and never waited for."""
    deadline = time.monotonic() + timeout
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(os.environ, LC_ALL="C"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
        return CommandResult(None, "", str(error), missing=True)
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
    try:
        out, err = _read_output([pipe.fileno() for pipe in pipes], deadline)
        process.wait(max(0.0, deadline - time.monotonic()))
        return CommandResult(process.returncode, out, err)
    except subprocess.TimeoutExpired:
        _abandon(process)
        return CommandResult(None, out, err, timed_out=True)
    finally:
        for pipe in pipes:
            pipe.close()


def _read_output(descriptors: Sequence[int], deadline: float) -> list[str]:
    """Read the pipes until they end or the time is up (a child left in the background may keep them open)."""
    parts = {descriptor: bytearray() for descriptor in descriptors}
    with selectors.DefaultSelector() as selector:
        for descriptor in parts:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map() and time.monotonic() < deadline:
            for key, _events in selector.select(max(0.0, deadline - time.monotonic())):
                data = os.read(key.fd, 65536)
                part = parts[key.fd]
                part += data[: OUTPUT_LIMIT - len(part)]
                if not data:
                    selector.unregister(key.fd)
    return [part.decode("utf-8", "replace") for part in parts.values()]


def _abandon(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(REAP_S)
    except (OSError, subprocess.TimeoutExpired):
        _disown(process)


def _disown(process: subprocess.Popen[bytes]) -> None:
    """Make Popen neither wait for the process nor warn that it was not waited for."""
    process.returncode = 0


def spawn_detached(argv: Sequence[str], log_path: str, cwd: str) -> int:
    """Start argv in a session of its own, its output appended to the log; return its pid. Raises OSError."""
    log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            close_fds=True,
            start_new_session=True,
        )
    finally:
        os.close(log)
    _disown(process)
    return process.pid


def child_ended(pid: int) -> bool:
    """Return whether a process started by spawn_detached has ended."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
