# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of a node's files of a run: each is compared with its digest there, and all logs are merged into one."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible import constants

from ansible_collections.muster.train.plugins.module_utils._records.document import as_number
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord

from .._action.files import locked, replacement
from .._results.collected import log_label, merge_logs
from .._text.table import one_line
from .step import Play, Unreachable

BLOCK_BYTES = 1 << 20
YEAR_10000 = 253402300800


class FileCopier:
    """Copies files as `run_info` lists them; warnings has what could not be copied, for people.

    place has the options of `run_file` that say where the run is on the node; shared is the directory in which the
    outputs are instead of the run's own.
    """

    def __init__(self, play: Play, place: Mapping[str, Any], run: RunRecord, shared: str | None) -> None:
        self.warnings: list[str] = []
        self._play, self._place, self._run, self._shared = play, place, run, shared
        self._transfer_is_broken = False

    def copy(self, file: Mapping[str, Any], local: Path) -> bool:
        """Copy one file; return whether it was (in check mode: would be) copied. Raise Unreachable."""
        name = one_line(f"{self._run.node}: {file['path']}")
        if file["stays"] is not None:
            self.warnings.append(f"{name} stays on the node: {one_line(file['stays'])}")
            return False
        if _sha256(local) == file["sha256"]:
            return False
        if self._play.is_checked:
            return True
        try:
            local.parent.mkdir(parents=True, exist_ok=True)
            with replacement(local) as new:
                self._fetch(file, new)
                new.chmod(0o600)  # sftp gives it the mode that it has on the node
                os.utime(new, (modified(file), modified(file)))
        except OSError as error:  # the log of an active run may have been rotated meanwhile
            self.warnings.append(f"{name} could not be copied: {one_line(error)}")
            return False
        return True

    def _fetch(self, file: Mapping[str, Any], new: Path) -> None:
        """Copy a file from the node and compare it with its digest there.

        By a module where only another user may read it (become), and where something else came than lies there: a login
        that prints a banner breaks sftp and scp, and Ansible's last resort takes the banner for a part of the file.
        """
        by_module = self._play.host.becomes or self._transfer_is_broken
        if not by_module:
            with contextlib.suppress(OSError, Unreachable):  # a node that is gone does not answer the module either
                self._play.host.fetch_file(self._path_of(file["path"]), new)
            if _holds(new, file):
                return
        self._copy_parts(file, new)
        if not by_module:
            self._transfer_is_broken = _holds(new, file)

    def _path_of(self, path: str) -> str:
        """Return where a file of the run is on the node."""
        folder, _slash, rest = path.partition("/")
        if self._shared and folder == "outputs":
            return os.path.join(self._shared, rest)
        return os.path.join(str(self._run.run_dir), path)

    def _copy_parts(self, file: Mapping[str, Any], new: Path) -> None:
        """Copy a file part by part; a file of one part may have changed since it was listed."""
        with new.open("wb") as stream:
            last = False
            while not last and stream.tell() < max(1, file["size"]):
                first = not stream.tell()
                part = {**self._place, "path": file["path"], "offset": stream.tell()}
                answer = self._play.host.run_module("run_file", part)
                if answer.get("unreachable"):
                    raise Unreachable(str(answer.get("msg")))
                if answer.get("failed"):
                    raise OSError(one_line(answer.get("msg")))
                try:
                    data = part_of(answer)
                except ValueError as error:
                    raise OSError(f"{one_line(error)}; collect again") from None
                stream.write(data)
                last = answer["last"] or not data
        if not (first and last) and not _holds(new, file):
            raise OSError(f"it changed while it was read (expected sha256 {file['sha256']}); collect again")


def alone(local: Path) -> contextlib.AbstractContextManager[None]:
    """Keep the other workers of this command from a copy: with spares, several nodes may have the file of a rank."""
    name = hashlib.sha256(os.fsencode(local)).hexdigest()
    return locked(Path(str(vars(constants)["DEFAULT_LOCAL_TMP"])) / f"{name}.lock")


def is_older(file: Mapping[str, Any], local: Path) -> bool:
    """Return whether a file on the node was changed before its copy from another node."""
    try:
        return modified(file) < local.stat().st_mtime
    except FileNotFoundError:
        return False


def modified(file: Mapping[str, Any]) -> float:
    """Return when a file was changed, 0 where the node gives no time that a file can have."""
    seconds = as_number(file["modified"]) or 0.0
    return float(seconds) if 0 <= seconds < YEAR_10000 else 0.0


def write_node_log(path: Path, files: Mapping[str, Path]) -> None:
    """Merge the logs of a node (path in the run directory -> local path) into one file, by time."""
    logs: dict[str, list[Path]] = {}
    for part in (".first.log", ".previous.log", ".log"):
        for name, local in files.items():
            label = log_label(name)
            if label is not None and name.endswith(part) and "." not in name.removesuffix(part):
                logs.setdefault(label, []).append(local)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as new, contextlib.ExitStack() as stack, new.open("w", encoding="utf-8") as stream:
        stream.writelines(merge_logs({label: _open_parts(stack, parts) for label, parts in logs.items()}))


def _open_parts(stack: contextlib.ExitStack, parts: list[Path]) -> Iterator[str]:
    for part in parts:
        if part.exists():
            yield from stack.enter_context(part.open(encoding="utf-8", errors="replace"))


def _holds(path: Path, file: Mapping[str, Any]) -> bool:
    """Return whether a copy begins with what was listed, and cut it to that: a log keeps growing."""
    if _sha256(path, file["size"]) != file["sha256"]:
        return False
    os.truncate(path, file["size"])
    return True


def _sha256(path: Path, size: int | None = None) -> str | None:
    """Return the digest of a file, or of its first `size` bytes; None where it can't be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            left = os.fstat(stream.fileno()).st_size if size is None else size
            while block := stream.read(min(BLOCK_BYTES, left)):
                digest.update(block)
                left -= len(block)
    except OSError:
        return None
    return digest.hexdigest()


def part_of(answer: Mapping[str, Any]) -> bytes:
    """Return the bytes of a part; raise ValueError where they are not those that the node read."""
    data = base64.b64decode(answer["content"])
    if hashlib.sha256(data).hexdigest() != answer["sha256"]:
        raise ValueError("the copy differs from the file on the node (sha256)")
    return data
