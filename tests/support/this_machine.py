# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine as text that takes itself for the one it runs on: its commands, resolver, network and clock are here."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.live import LookedUp, Outside
from ansible_collections.muster.train.tools._machine.machine import Machine


class Surroundings(Outside):
    """What it says by name, by address and port (an errno), by folder (an errno); synchronized as the kernel says."""

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

    def connect(self, targets: Iterable[tuple[str, int]], timeout: float) -> dict[tuple[str, int], int]:
        return {target: self.states.get(target, errno.ETIMEDOUT) for target in targets}

    def try_write(self, folder: str, named: bool = True) -> int | None:
        self.tried.append((folder, named))
        return self.writes.get(folder, 0)


class OwnMachine(Machine):
    """A Machine of our own; hangs are the beginnings of command lines that give no answer."""

    def __init__(self, manifest: Mapping[str, Any], root: Path, hangs: Sequence[str] = ()) -> None:
        super().__init__(manifest, root)
        self.is_live = True
        self.hangs = tuple(hangs)
        self.surroundings = Surroundings()
        self.uid = 1000

    @property
    def outside(self) -> Outside:
        return self.surroundings

    def user_id(self) -> int:
        return self.uid

    def run(self, argv: Sequence[str], timeout: float = 5.0, cwd: str | None = None) -> CommandResult:
        found = super().run(argv, timeout, cwd)
        hung = bool(self.hangs) and " ".join(argv).startswith(self.hangs)
        return CommandResult(None, "", "", timed_out=True) if hung else found


def answer(stdout: str = "", stderr: str = "", rc: int = 0) -> dict[str, Any]:
    """Return what a manifest says of a command."""
    return {"rc": rc, "stdout": stdout, "stderr": stderr}
