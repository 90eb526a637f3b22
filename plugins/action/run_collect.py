# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_collect`: copies one node's files of a run to the controller, except those already there."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action
from ansible_collections.muster.train.plugins.plugin_utils._action.private import private_files
from ansible_collections.muster.train.plugins.plugin_utils._results.collected import (
    merge_logs,
    node_log_name,
    ranks_of,
    target,
)
from ansible_collections.muster.train.plugins.plugin_utils._text.table import one_line

display = Display()

OPTIONS = {
    "workdir": {"type": "str", "required": True},
    "run_id": {"type": "str", "required": True},
    "node": {"type": "str", "required": True},
    "node_rank": {"type": "int", "required": True},
    "experiment": {"type": "str", "required": True},
    "wait": {"type": "int", "default": 0},
    "docker": {"type": "list", "elements": "str", "default": ["docker"]},
    "spares": {"type": "bool", "default": False},
    "limit_mib": {"type": "int", "default": 1024},
}
ASKED = ("workdir", "run_id", "node", "docker", "wait", "limit_mib")


class ActionModule(Action):
    """Ask `run_info` for the run's files and fetch those whose checksum differs."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        asked = {"files": True, **{key: args[key] for key in ASKED}}
        info: dict[str, Any] = self._execute_module("muster.train.run_info", asked, task_vars=variables)
        if info.get("failed"):
            return info
        run, home = RunRecord.from_dict(info["run"]), Path(args["experiment"])
        # The node rank comes from the controller: a node must not choose where its files go.
        places = {file["path"]: target(file["path"], args["node_rank"], ranks_of(run)) for file in info["files"]}
        fetched: list[str] = []
        with private_files():
            for file in info["files"]:
                below = places[file["path"]]
                if below is None or (args["spares"] and _is_older(file, home / below)):
                    continue
                if self._copy(file, run, home / below):
                    fetched.append(below)
            if fetched and not self._task.check_mode:
                here = {path: home / below for path, below in places.items() if below is not None}
                _write_node_log(home / node_log_name(args["node_rank"], run.created), here)
        return {"changed": bool(fetched), "run": info["run"], "fetched": fetched}

    def _copy(self, file: dict[str, Any], run: RunRecord, local: Path) -> bool:
        """Copy one file; return whether it was (in check mode: would be) copied."""
        name = clean(f"{run.node}: {file['path']}")
        if file["sha256"] is None:
            display.warning(f"{name} stays on the node: {file['size'] >> 20} MiB is above limit_mib")
            return False
        if _sha256(local) == file["sha256"]:
            return False
        if self._task.check_mode:
            return True
        local.parent.mkdir(parents=True, exist_ok=True)
        new = local.with_name(f".{local.name}.{os.getpid()}.new")  # another node may have a file of this name
        try:
            self._fetch(os.path.join(str(run.run_dir), file["path"]), new)
        except AnsibleConnectionFailure:
            raise
        except (AnsibleError, OSError) as error:  # the log of an active run may have been rotated meanwhile
            new.unlink(missing_ok=True)
            display.warning(f"{name} could not be copied: {one_line(error)}")
            return False
        new.chmod(0o600)  # sftp gives it the mode that it has on the node
        os.utime(new, (_modified(file), _modified(file)))
        new.replace(local)
        return True

    def _fetch(self, remote: str, local: Path) -> None:
        """Read a file from the node: with become through a module, since only that user may read the file."""
        if not self._connection.become:
            self._connection.fetch_file(remote, str(local))
            return
        answer = self._execute_module("ansible.legacy.slurp", {"src": remote})
        if answer.get("failed"):
            raise AnsibleError(str(answer.get("msg")))
        local.write_bytes(base64.b64decode(answer["content"]))


def _modified(file: dict[str, Any]) -> float:
    return float(file["modified"] or 0)


def _is_older(file: dict[str, Any], local: Path) -> bool:
    try:
        return _modified(file) < local.stat().st_mtime
    except FileNotFoundError:
        return False


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def _open_parts(stack: contextlib.ExitStack, parts: list[Path]) -> Iterator[str]:
    for part in parts:
        if part.exists():
            yield from stack.enter_context(part.open(encoding="utf-8", errors="replace"))


def _write_node_log(path: Path, files: dict[str, Path]) -> None:
    """Merge the logs of this node (path on the node -> local path) into one file, by time."""
    logs: dict[str, list[Path]] = {}
    for part in (".first.log", ".previous.log", ".log"):
        for name, local in files.items():
            stem = Path(name).name.removesuffix(part)
            if name.startswith("logs/") and name.endswith(part) and "." not in stem:
                label = "launcher" if stem == "node" else f"rank{int(stem.removeprefix('rank_'))}"
                logs.setdefault(label, []).append(local)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    with contextlib.ExitStack() as stack, new.open("w", encoding="utf-8") as stream:
        stream.writelines(merge_logs({label: _open_parts(stack, parts) for label, parts in logs.items()}))
    new.replace(path)
