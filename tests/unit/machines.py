# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines as text: a manifest (tests/machines/*.yml) becomes a tree below tmp_path and a Host that sees it.

A manifest has `about` (what machine), `files` (path -> text), `links` (path -> target as readlink prints it), `errors`
(path -> errno name: reading it fails so), `directories` (empty ones) and `commands` (command line -> rc, stdout,
stderr; any other command is not found).
"""

from __future__ import annotations

import errno
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from ansible_collections.muster.train.plugins.module_utils._command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host import Host

MACHINES = Path(__file__).parents[1] / "machines"


class Machine(Host):
    """A host made of a manifest; `commands_run` are the command lines it was asked for."""

    def __init__(self, manifest: dict[str, Any], root: Path) -> None:
        super().__init__(str(root), self._answer)
        self.commands_run: list[str] = []
        self._commands = manifest.get("commands", {})
        self._errors = manifest.get("errors", {})
        root.mkdir(parents=True, exist_ok=True)
        for path in manifest.get("directories", []):
            self._place(path).mkdir(exist_ok=True)
        for path in self._errors:
            self._place(path).touch()
        for path, text in manifest.get("files", {}).items():
            self._place(path).write_text(text, encoding="utf-8")
        for path, target in manifest.get("links", {}).items():
            self._place(path).symlink_to(target)

    def _place(self, path: str) -> Path:
        place = Path(self.root, path.lstrip("/"))
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _answer(self, argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        line = shlex.join(argv)
        self.commands_run.append(line)
        if line not in self._commands:
            return CommandResult(None, "", f"{argv[0]}: not found", missing=True)
        answer = self._commands[line]
        return CommandResult(answer.get("rc", 0), answer.get("stdout", ""), answer.get("stderr", ""))

    def _open(self, path: str) -> BinaryIO:
        if path in self._errors:
            raise OSError(getattr(errno, self._errors[path]), self._errors[path])
        return super()._open(path)


def load(name: str, root: Path) -> Machine:
    """Return the machine of tests/machines/NAME.yml, built below root."""
    return Machine(yaml.safe_load((MACHINES / f"{name}.yml").read_text(encoding="utf-8")), root)
