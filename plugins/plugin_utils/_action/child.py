# SPDX-License-Identifier: GPL-3.0-or-later
"""Another ansible-playbook command that an action starts: its standard output as lines, the rest in a log."""

from __future__ import annotations

import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from .._findings.errors import UserError
from .private import private_files

# How soon the caller may look for Ctrl-C.
TICK_S = 0.2
# For what a command that was ended has to tidy up.
END_S = 30.0


def ansible_playbook() -> str:
    """Return the program of this command, or else the one beside its Python."""
    called = Path(sys.argv[0])
    if called.name == "ansible-playbook":
        return shutil.which(str(called)) or str(called.absolute())
    return str(Path(sys.executable).with_name("ansible-playbook"))


class ChildCommand:
    """One command. Leaving its context ends it, and the log has what it printed for people."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        with private_files():
            self._log = log.open("ab")
        self._log.write(f"\n# {shlex.join(words)}\n".encode())
        self._log.flush()
        try:
            self._process = subprocess.Popen(
                [ansible_playbook(), *words],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            self._log.close()
            raise UserError(f"{ansible_playbook()} could not be started: {error.strerror}") from None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> ChildCommand:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()

    def lines(self) -> Iterator[str | None]:
        """Yield the lines of its standard output until it has ended, and None where a while passes without one."""
        while True:
            try:
                line = self._lines.get(timeout=TICK_S)
            except queue.Empty:
                yield None
                continue
            if line is None:
                self._process.wait()
                return
            yield line

    def text(self) -> str:
        """Return its standard output, once it has ended."""
        return "".join(line for line in self.lines() if line is not None)

    @property
    def code(self) -> int:
        """Its exit code, once it has ended."""
        return int(self._process.returncode)

    def interrupt(self) -> None:
        """Do what Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)
        self._lines.put(None)
