# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of `collect`: bring one node's part of a run home, only what is not here yet."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.muster.train.plugins.plugin_utils._collected import merge_logs, node_log_name, target

display = Display()


class ActionModule(ActionBase):
    """Ask `job_info` for the run's files and fetch those whose checksum differs."""

    TRANSFERS_FILES = True
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            {
                "workdir": {"type": "str", "required": True},
                "run_id": {"type": "str", "required": True},
                "node": {"type": "str", "required": True},
                "experiment": {"type": "str", "required": True},
                "wait": {"type": "int", "default": 0},
                "limit_mib": {"type": "int", "default": 1024},
            }
        )
        asked = {key: args[key] for key in ("workdir", "run_id", "node", "wait")}
        found = self._execute_module("muster.train.job_info", {**asked, "files": True}, task_vars=task_vars)
        if found.get("failed"):
            return {**result, **found}
        run = found["run"]
        result.update(changed=False, run=run, fetched=[])
        if run["node_rank"] is None:
            return result
        home = Path(args["experiment"])
        for file in found["files"]:
            self._bring(file, run, home, args["limit_mib"] << 20, result)
        if result["fetched"] and not self._task.check_mode:
            _write_node_log(home, run, found["files"])
        result["changed"] = bool(result["fetched"])
        return result

    def _bring(self, file: dict[str, Any], run: dict[str, Any], home: Path, limit: int, result: dict[str, Any]) -> None:
        below = target(file["path"], run["node_rank"])
        if below is None:
            return
        if file["size"] > limit:
            display.warning(
                f"{run['node']}: {file['path']} stays on the node: {file['size'] >> 20} MiB is above limit_mib"
            )
            return
        local = home / below
        if _sha256(local) == file["sha256"]:
            return
        result["fetched"].append(below)
        if self._task.check_mode:
            return
        local.parent.mkdir(parents=True, exist_ok=True)
        new = local.with_name(f".{local.name}.new")
        self._connection.fetch_file(os.path.join(run["run_dir"], file["path"]), str(new))
        new.replace(local)


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def _open_parts(stack: contextlib.ExitStack, parts: list[Path]) -> Iterator[str]:
    for part in parts:
        yield from stack.enter_context(part.open(encoding="utf-8", errors="replace"))


def _write_node_log(home: Path, run: dict[str, Any], files: list[dict[str, Any]]) -> None:
    """Write all that this node said into one text, by time: the launcher and its ranks."""
    logs: dict[str, list[Path]] = {}
    for part in ("first", "previous", ""):
        for file in files:
            below = target(file["path"], run["node_rank"])
            name = Path(file["path"]).name
            suffix = f".{part}.log" if part else ".log"
            stem = name.removesuffix(suffix)
            if file["path"].startswith("logs/") and below and name == stem + suffix and "." not in stem:
                label = "launcher" if stem == "node" else "rank" + stem.removeprefix("rank_").lstrip("0").rjust(1, "0")
                logs.setdefault(label, []).append(home / below)
    path = home / node_log_name(run["node_rank"], run["created"] or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    with contextlib.ExitStack() as stack, new.open("w", encoding="utf-8") as stream:
        stream.writelines(merge_logs({label: _open_parts(stack, parts) for label, parts in logs.items()}))
    new.replace(path)
