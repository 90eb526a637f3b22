# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines as text: a manifest becomes a tree below a folder, and a Host that sees it."""

from __future__ import annotations

import errno
import os
import posixpath
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils._host.paths import LINK_LIMIT
from ansible_collections.muster.train.tools._machine.manifest import (
    Answer,
    Manifest,
    ManifestError,
    check,
    parents,
    read,
    shortened,
)

MACHINES = Path(__file__).resolve().parents[2] / "tests" / "machines"
# Reading it fails so because nothing is there.
ABSENT = ("ENOENT", "ENOTDIR", "ELOOP")
FORBIDDEN = ("EACCES", "EPERM")


class Machine(LiveHost):
    """A host made of a manifest; `commands_run` are the command lines it was asked for. Raises ManifestError."""

    def __init__(self, manifest: Manifest | Mapping[str, Any], root: Path) -> None:
        super().__init__(str(root), self._answer)
        self.manifest = manifest if isinstance(manifest, Manifest) else check(manifest)
        self.commands_run: list[str] = []
        self._answers = _by_argv(self.manifest.commands)
        places = Places(self.manifest.links)
        self._errors = {place: name for path, name in self.manifest.errors.items() if (place := places.resolve(path))}
        _build(root, self.manifest, places, self._errors)

    def _answer(self, argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        self.commands_run.append(shlex.join(argv))
        answer = self._answers.get(tuple(argv)) or self._answers.get((posixpath.basename(argv[0]), *argv[1:]))
        if answer is None:
            return CommandResult(None, "", f"{argv[0]}: not found", missing=True)
        return CommandResult(answer.rc, answer.stdout, answer.stderr)

    def _error(self, path: str) -> str | None:
        return self._errors.get(self.resolve(path) or path) if self._errors else None

    def _open(self, path: str) -> BinaryIO:
        name = self._error(path)
        if name is not None:
            raise OSError(getattr(errno, name), name)
        return super()._open(path)

    def read_folder(self, path: str, names: Iterable[str], limit: int = 4096) -> dict[str, bytes]:
        files = super().read_folder(path, names, limit)
        if self._errors:
            folder = self.resolve(path)
            files = {name: data for name, data in files.items() if f"{folder}/{name}" not in self._errors}
        return files

    def list_dir(self, path: str) -> list[str] | None:
        return None if self._error(path) else super().list_dir(path)

    def read_link(self, path: str) -> str | None:
        return None if path in self._errors else super().read_link(path)

    def ipv4_interfaces(self) -> dict[str, str] | None:
        return self.manifest.addresses

    def environment(self) -> dict[str, str]:
        return self.manifest.environment

    def home(self) -> str:
        return self.manifest.environment.get("HOME", "/root")

    def allows(self, path: str, mode: int) -> bool:
        return self._error(path) not in FORBIDDEN and super().allows(path, mode)


class Places(Host):
    """Where the paths of a manifest lie once its links are followed; it looks at nothing but the links."""

    def __init__(self, links: Mapping[str, str]) -> None:
        super().__init__("/")
        self.links: dict[str, str] = {}
        # A link may itself lie behind links: place them again until none moves.
        for _round in range(LINK_LIMIT):
            before, self.links = self.links, dict(self._placed(links))
            if self.links == before:
                return
        raise ManifestError("links: they lie behind one another")

    def _placed(self, links: Mapping[str, str]) -> list[tuple[str, str]]:
        folders = [(self.resolve(posixpath.dirname(path.rstrip("/"))), path, links[path]) for path in links]
        # What lies behind a loop is not there.
        return [
            (posixpath.join(folder, posixpath.basename(path.rstrip("/"))), target)
            for folder, path, target in folders
            if folder is not None
        ]

    def _target(self, path: str) -> str | None:
        return self.links.get(path)


def _build(root: Path, manifest: Manifest, places: Places, errors: Mapping[str, str]) -> None:
    files = {place: text for path, text in manifest.files.items() if (place := places.resolve(path))}
    directories = {place for path in manifest.directories if (place := places.resolve(path))}
    directories |= parents([*places.links, *files, *errors, *directories])
    for path in errors:
        if path not in directories and path not in places.links:
            files.setdefault(path, "")
    files = {path: text for path, text in files.items() if errors.get(path) not in ABSENT}
    for both in sorted(directories & {*files, *places.links}):
        raise ManifestError(
            f"{shortened(both)} is both a directory and {'a link' if both in places.links else 'a file'}"
        )
    root.mkdir(parents=True, exist_ok=True)
    path = ""
    try:
        for path in sorted(directories - {"/"}):
            os.makedirs(f"{root}{path}", exist_ok=True)
        for path, target in places.links.items():
            os.symlink(target, f"{root}{path}")
        for path, text in files.items():
            # `surrogatepass`: a text that is not Unicode becomes a file that is not UTF-8.
            Path(f"{root}{path}").write_bytes(text.encode("utf-8", "surrogatepass"))
            if posixpath.basename(posixpath.dirname(path)) in ("bin", "sbin") or text.startswith("#!"):
                os.chmod(f"{root}{path}", 0o755)
    except (OSError, ValueError) as error:
        raise ManifestError(
            f"{shortened(path)!r} cannot be made: {getattr(error, 'strerror', None) or error}"
        ) from error


def _by_argv(commands: Mapping[str, Answer]) -> dict[tuple[str, ...], Answer]:
    """Return the answers by argv; a command may be written with its folder or without."""
    answers: dict[tuple[str, ...], Answer] = {}
    for line, answer in commands.items():
        try:
            argv = shlex.split(line)
        except ValueError:
            argv = line.split()
        if argv:
            answers.setdefault((posixpath.basename(argv[0]), *argv[1:]), answer)
            answers[tuple(argv)] = answer
    return answers


def load(name: str, root: Path) -> Machine:
    """Return the machine of tests/machines/NAME.yml, built below root."""
    return Machine(read((MACHINES / f"{name}.yml").read_text(encoding="utf-8")), root)
