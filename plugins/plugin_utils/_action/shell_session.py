# SPDX-License-Identifier: GPL-3.0-or-later
"""A shell that runs one command after the other, for a connection on which every shell is expensive."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import subprocess
from collections.abc import Sequence
from typing import IO

# After its input has ended.
END_S = 5.0


class SessionEnded(Exception):
    """The shell is gone; the message is what it printed on its standard error."""


class ShellSession:
    """A shell that argv starts and that reads its commands from the standard input."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._shell = subprocess.Popen(
            list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )

    def run(self, command: str) -> tuple[int, bytes, bytes]:
        """Run a command without input; return its exit code and both outputs. Raises SessionEnded."""
        stdin, stdout, stderr = self._shell.stdin, self._shell.stdout, self._shell.stderr
        if not (stdin and stdout and stderr):
            raise AssertionError("the shell was started with three pipes")
        mark = secrets.token_hex(16)
        line = f"(\n{command}\n) </dev/null; printf '\\n{mark} %s\\n' $?; printf '\\n{mark} \\n' >&2\n"
        with contextlib.suppress(BrokenPipeError):  # what it said is read below
            stdin.write(line.encode())
        printed, failed = _read(stdout, stderr, f"\n{mark} ".encode())
        out, _mark, code = printed
        return int(code), out, failed[0]

    def end(self) -> None:
        """End the shell. What its commands left on a node ends with the step that it is, and nowhere else."""
        for pipe in (self._shell.stdin, self._shell.stdout, self._shell.stderr):
            if pipe:
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._shell.wait(END_S)
            return
        self._shell.kill()
        self._shell.wait()


def _read(stdout: IO[bytes], stderr: IO[bytes], mark: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Read both outputs up to a line that begins with the mark; return each in three parts, before, mark and after."""
    parts = {pipe.fileno(): bytearray() for pipe in (stdout, stderr)}
    with selectors.DefaultSelector() as selector:
        for pipe in parts:
            selector.register(pipe, selectors.EVENT_READ)
        has_ended = False
        while selector.get_map():
            # Both pipes of a shell that ends close, but a process that it left may keep one.
            events = selector.select(END_S if has_ended else None)
            for key, _events in events:
                data, part = os.read(key.fd, 65536), parts[key.fd]
                part += data
                has_ended = has_ended or not data
                if not data or (mark in part[-len(data) - len(mark) - 8 :] and part.endswith(b"\n")):
                    selector.unregister(key.fd)
            if not events:
                break
    if has_ended:
        raise SessionEnded(parts[stderr.fileno()].decode("utf-8", "replace").strip())
    return [bytes(part).rpartition(mark) for part in parts.values()]
