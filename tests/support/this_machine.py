# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine as text that counts as live: it has commands, a resolver, a network and a clock."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.live import LiveSystem, LookedUp
from ansible_collections.muster.train.tools._machine.machine import Machine


class FakeSystem(LiveSystem):
    """Answers by name, by address and port (an errno) and by folder (an errno); synchronized is the kernel's answer."""

    def __init__(self) -> None:
        self.names: dict[str, LookedUp] = {}
        self.states: dict[tuple[str, int], int] = {}
        self.writes: dict[str, int] = {}
        self.tried: list[tuple[str, bool]] = []
        self.wall = 1800000000.5
        self.synchronized: bool | None = True

    def now(self) -> float:
        return self.wall

    def clock_synchronized(self) -> bool | None:
        return self.synchronized

    def look_up(self, name: str) -> LookedUp:
        return self.names.get(name, LookedUp([], "Name or service not known"))

    def look_up_name(self, address: str) -> str | None:
        return next((name for name, answer in self.names.items() if address in answer.addresses), None)

    def connect(self, targets: Iterable[tuple[str, int]], timeout: float) -> dict[tuple[str, int], int]:
        return {target: self.states.get(target, errno.ETIMEDOUT) for target in targets}

    def try_write(self, folder: str, named: bool = True) -> int | None:
        self.tried.append((folder, named))
        return self.writes.get(folder, 0)


class OwnMachine(Machine):
    """A live Machine; hangs are the beginnings of command lines that do not return."""

    def __init__(self, manifest: Mapping[str, Any], root: Path, hangs: Sequence[str] = ()) -> None:
        super().__init__(manifest, root)
        self.is_live = True
        self.hangs = tuple(hangs)
        self.system = FakeSystem()
        self.uid = 1000

    @property
    def live(self) -> LiveSystem | None:
        return self.system if self.is_live else None

    def user_id(self) -> int:
        return self.uid

    def run(self, argv: Sequence[str], timeout: float = 5.0, cwd: str | None = None) -> CommandResult:
        result = super().run(argv, timeout, cwd)
        hung = bool(self.hangs) and " ".join(argv).startswith(self.hangs)
        return CommandResult(None, "", "", timed_out=True) if hung else result


def answer(stdout: str = "", stderr: str = "", rc: int = 0) -> dict[str, Any]:
    """Return the result of a command in a manifest."""
    return {"rc": rc, "stdout": stdout, "stderr": stderr}
