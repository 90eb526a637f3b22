# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_collect`: copies one node's files of a run to the controller, except those already there."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.module_utils._records.document import as_number
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action
from ansible_collections.muster.train.plugins.plugin_utils._action.private import private_files
from ansible_collections.muster.train.plugins.plugin_utils._results.collected import (
    log_label,
    merge_logs,
    node_log_name,
    target,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.file_part import part_of
from ansible_collections.muster.train.plugins.plugin_utils._results.ranks import ranks_of
from ansible_collections.muster.train.plugins.plugin_utils._text.table import one_line

display = Display()

OPTIONS = {
    "workdir": {"type": "str", "required": True},
    "run_id": {"type": "str", "required": True},
    "node": {"type": "str", "required": True},
    "node_rank": {"type": "int", "required": True},
    "part": {"type": "dict", "default": {}},
    "by_plan": {"type": "bool", "default": True},
    "experiment": {"type": "str", "required": True},
    "wait": {"type": "int", "default": 0},
    "docker": {"type": "list", "elements": "str", "default": ["docker"]},
    "spares": {"type": "bool", "default": False},
    "shared_output_dir": {"type": "str"},
    "exclude": {"type": "list", "elements": "str", "default": []},
    "limit_mib": {"type": "int", "default": 1024},
}
# Reads a part of a file on the node: path, offset -> the answer of run_file.
ReadPart = Callable[[str, int], dict[str, Any]]
BLOCK_BYTES = 1 << 20
YEAR_10000 = 253402300800
ASKED = ("workdir", "run_id", "node", "docker", "wait", "exclude", "limit_mib")


class ActionModule(Action):
    """Ask `run_info` for the run's files and fetch those whose checksum differs."""

    OPTIONS = OPTIONS
    _transfer_is_broken = False

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        part = args["part"]
        # What all nodes share is collected once.
        shared = args["shared_output_dir"] if part.get("first_rank") == 0 else None
        place = {"shared_output_dir": shared} if shared else {}
        asked = {"files": True, **{key: args[key] for key in ASKED}, **place}
        info: dict[str, Any] = self._execute_module("muster.train.run_info", asked, task_vars=variables)
        if info.get("failed"):
            return info
        run, home = RunRecord.from_dict(info["run"]), Path(args["experiment"])
        # Node rank and ranks come from the controller: a node must not choose where its files go.
        ranks, refused = ranks_of(part, run, args["by_plan"])
        of_outputs = range(part["nproc"] * part["nnodes"]) if shared else ranks
        if refused:
            display.warning(f"{args['node']}: {refused}")
        starts_ranks = run.ranks is not None
        places = {
            file["path"]: target(file["path"], args["node_rank"], ranks, of_outputs, starts_ranks)
            for file in info["files"]
        }

        def read_part(path: str, offset: int) -> dict[str, Any]:
            which = {
                **{key: args[key] for key in ("workdir", "run_id", "node")},
                **place,
                "path": path,
                "offset": offset,
            }
            answer: dict[str, Any] = self._execute_module("muster.train.run_file", which, task_vars=variables)
            return answer

        fetched: list[str] = []
        with private_files():
            for file in info["files"]:
                below = places[file["path"]]
                if below is None or (args["spares"] and _is_older(file, home / below)):
                    continue
                if self._copy(file, run, info["shared_outputs"], home / below, read_part):
                    fetched.append(below)
            if fetched and not self._task.check_mode:
                here = {path: home / below for path, below in places.items() if below is not None}
                _write_node_log(home / node_log_name(args["node_rank"], run.created), here)
        return {"changed": bool(fetched), "run": info["run"], "fetched": fetched, "remaining": info["remaining"]}

    def _copy(self, file: dict[str, Any], run: RunRecord, shared: str | None, local: Path, read_part: ReadPart) -> bool:
        """Copy one file; return whether it was (in check mode: would be) copied."""
        name = clean(f"{run.node}: {file['path']}")
        if file["stays"] is not None:
            display.warning(f"{name} stays on the node: {one_line(file['stays'])}")
            return False
        if _sha256(local) == file["sha256"]:
            return False
        if self._task.check_mode:
            return True
        new = local.with_name(f".{os.getpid()}.new")  # another node may have a file of this name
        try:
            local.parent.mkdir(parents=True, exist_ok=True)
            self._fetch(file, _place(file["path"], run, shared), new, read_part)
            new.chmod(0o600)  # sftp gives it the mode that it has on the node
            os.utime(new, (_modified(file), _modified(file)))
            new.replace(local)
        except AnsibleConnectionFailure:
            raise
        except (AnsibleError, OSError) as error:  # the log of an active run may have been rotated meanwhile
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            display.warning(f"{name} could not be copied: {one_line(error)}")
            return False
        return True

    def _fetch(self, file: dict[str, Any], place: str, new: Path, read_part: ReadPart) -> None:
        """Copy a file from the node and compare it with its digest there.

        By a module where only another user may read it (become), and where something else came than lies there: a login
        that prints a banner breaks sftp and scp, and Ansible's last resort takes the banner for a part of the file.
        """
        by_module = self._connection.become or self._transfer_is_broken
        if not by_module:
            with contextlib.suppress(AnsibleError):  # a node that is gone does not answer the module either
                self._connection.fetch_file(place, str(new))
            if _holds(new, file):
                return
        _copy_parts(file, new, read_part)
        if not by_module:
            self._transfer_is_broken = _holds(new, file)


def _place(path: str, run: RunRecord, shared: str | None) -> str:
    """Return where a file of a run is on the node; outputs may be in a directory that the nodes share."""
    folder, _slash, rest = path.partition("/")
    return os.path.join(shared, rest) if shared and folder == "outputs" else os.path.join(str(run.run_dir), path)


def _copy_parts(file: dict[str, Any], new: Path, read_part: ReadPart) -> None:
    """Copy a file part by part; a file of one part may have changed since it was listed."""
    with new.open("wb") as stream:
        last = False
        while not last and stream.tell() < max(1, file["size"]):
            first = not stream.tell()
            answer = read_part(file["path"], stream.tell())
            if answer.get("failed"):
                raise AnsibleError(one_line(answer.get("msg")))
            try:
                data = part_of(answer)
            except ValueError as error:
                raise AnsibleError(f"{one_line(error)}; collect again") from None
            stream.write(data)
            last = answer["last"] or not data
    if not (first and last) and not _holds(new, file):
        raise AnsibleError(f"it changed while it was read (expected sha256 {file['sha256']}); collect again")


def _holds(path: Path, file: dict[str, Any]) -> bool:
    """Return whether a copy begins with what was listed, and cut it to that: a log keeps growing."""
    if _sha256(path, file["size"]) != file["sha256"]:
        return False
    os.truncate(path, file["size"])
    return True


def _modified(file: dict[str, Any]) -> float:
    """Return when a file was changed, 0 where the node gives no time that a file can have."""
    modified = as_number(file["modified"]) or 0.0
    return float(modified) if 0 <= modified < YEAR_10000 else 0.0


def _is_older(file: dict[str, Any], local: Path) -> bool:
    try:
        return _modified(file) < local.stat().st_mtime
    except FileNotFoundError:
        return False


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


def _open_parts(stack: contextlib.ExitStack, parts: list[Path]) -> Iterator[str]:
    for part in parts:
        if part.exists():
            yield from stack.enter_context(part.open(encoding="utf-8", errors="replace"))


def _write_node_log(path: Path, files: dict[str, Path]) -> None:
    """Merge the logs of this node (path on the node -> local path) into one file, by time."""
    logs: dict[str, list[Path]] = {}
    for part in (".first.log", ".previous.log", ".log"):
        for name, local in files.items():
            label = log_label(name)
            if label is not None and name.endswith(part) and "." not in name.removesuffix(part):
                logs.setdefault(label, []).append(local)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    with contextlib.ExitStack() as stack, new.open("w", encoding="utf-8") as stream:
        stream.writelines(merge_logs({label: _open_parts(stack, parts) for label, parts in logs.items()}))
    new.replace(path)
