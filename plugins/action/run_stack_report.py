# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_stack_report`: keeps the stacks of a run's ranks in its experiment, and shows which are alike."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import WIDTH, ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.files import relative, write_text
from ansible_collections.muster.train.plugins.plugin_utils._action.private import private_files
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import show
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._request.hints import command, hints
from ansible_collections.muster.train.plugins.plugin_utils._results import report, stacks, unanswered
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import (
    RESULT_OPTIONS,
    Info,
    answers,
    run_id_of,
    runs_of,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge, members
from ansible_collections.muster.train.plugins.plugin_utils._text.table import aligned

HINTS = ("logs", "stop")


class ActionModule(ControllerAction):
    """Report once for all nodes; strings from hosts are shown, never templated."""

    OPTIONS = RESULT_OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        request, infos = args["request"], answers(variables, args)
        run_id = str(run_id_of(infos, args["run_id"], request.get("run_id")))
        if wrong := report.no_such_rank(members(runs_of(infos)), request.get("parameters", {}).get("rank")):
            raise UserError(clean(wrong))
        items = stacks.stacks_of(infos)
        are_shown = any(item.stacks.threads for item in items)
        directory = self._write(request, run_id, items) if are_shown and not self._task.check_mode else None
        if self.is_document_requested:
            self.document = stacks.document_of(run_id, infos, items, directory)
        if not items:
            raise UserError(clean(_why_none(run_id, infos, request.get("call"))))
        where = [("stacks", relative(directory))] if directory else []
        show(["", *stacks.lines_of(items, WIDTH), *unanswered.lines(infos), ""])
        show(aligned([*where, *hints(run_id, request.get("call"), HINTS)]))
        if not are_shown:
            raise UserError(f"{clean(run_id)}: no rank has shown its stacks; the reasons are above")
        return {"run_id": run_id, "directory": directory}

    def _write(self, request: dict[str, Any], run_id: str, items: list[stacks.NodeStacks]) -> str:
        """Write a file for each rank; return their directory."""
        created = str(request["created"])
        folder = Path(request["experiments"], run_id, "stacks", created.replace("-", "").replace(":", ""))
        with private_files():
            for item in items:
                if item.stacks.threads:
                    text = stacks.text_of(item, run_id, created)
                    write_text(folder / item.file_name, text, "launch_experiments_dir", "a directory to write to")
        return os.path.abspath(folder)


def _why_none(run_id: str, infos: list[Info], call: str | None) -> str:
    """Return why there are no stacks at all."""
    silent = unanswered.lines(infos)
    verdict = judge(runs_of(infos))
    if any(info.run.alive for info in infos):
        where = "; ".join(silent) or "they have not started yet, have just ended, or are not Python"
        return f"{run_id}: no process of a rank was found: {where}"
    if silent:
        return f"{run_id}: {'; '.join(silent)}"
    logs = command("logs", run_id, call)
    return f"{run_id} {verdict.verdict}: only living processes have stacks; its last lines: {logs}"
