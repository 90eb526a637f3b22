# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_list`: prints the experiments of this controller."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import WIDTH, ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.document_output import print_document
from ansible_collections.muster.train.plugins.plugin_utils._action.files import read_text
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import show
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._findings.invocation import Invocation
from ansible_collections.muster.train.plugins.plugin_utils._request.hints import call_with, command
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.plugins.plugin_utils._results.listing import list_lines, minute, to_csv
from ansible_collections.muster.train.plugins.plugin_utils._results.summary import (
    NOT_LISTED,
    ExperimentSummary,
    select,
    summarize,
    unseen,
)
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import FILE as SWEEP
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import load as load_sweep
from ansible_collections.muster.train.plugins.plugin_utils._sweep.text import summary
from ansible_collections.muster.train.plugins.plugin_utils._text.table import table

OPTIONS = {"request": {"type": "dict", "required": True}}
MOST_UNSEEN, MOST_SWEEPS = 3, 8
PARAMETERS = [parameter.name for parameter in VERBS["launch"] if parameter.name not in NOT_LISTED]


class ActionModule(ControllerAction):
    """Print as plain text, or as data; strings from hosts are shown, never templated."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        request = args["request"]
        settings, folder = values(request), Path(request["experiments"])
        folders = _experiments(folder)
        sweeps = sorted(path.name for path in folders if os.path.isfile(path / SWEEP))
        paths = [path for path in folders if path.name not in sweeps and request.get("run_id") in (None, path.name)]
        entries = [summarize(path.name, read_text(path / "run.yml")) for path in paths]
        chosen = select(entries, PARAMETERS, *(settings.get(name) for name in ("where", "sort", "last")))
        # A key that a user added to run.yml may hold a date.
        rows = json.loads(json.dumps([entry.to_dict() for entry in chosen], default=str))
        if self.is_document_requested:
            self.document = {"folder": str(folder), "experiments": rows, "sweeps": sweeps}
        if settings.get("output") == "csv":
            print_document(to_csv(chosen).rstrip("\n"))
        else:
            if entries or not sweeps:
                _show(chosen, len(entries), request)
            _show_sweeps([folder / name for name in sweeps], request)
        return {"experiments": rows, "sweeps": sweeps}


def _show(chosen: Sequence[ExperimentSummary], count: int, request: Mapping[str, Any]) -> None:
    if not count:
        launch = command("launch", None, request.get("call"))
        show([clean(f"no experiments in {request['experiments']}; to make one: {launch}")])
        return
    show(map(clean, list_lines(chosen, WIDTH)))
    if len(chosen) < count:
        show([f"{len(chosen)} of {count} runs"])
    outdated = unseen(chosen)[-MOST_UNSEEN:]
    show([""] * bool(outdated))
    for entry in outdated:
        call = request.get("call") if entry.options is None else call_with(entry.options, request)
        at = f", at {minute(entry.looked)} UTC" if entry.looked else ""
        show([clean(f"as last seen{at}; to update it: {command('collect', entry.run_id, call)}")])


def _show_sweeps(paths: Sequence[Path], request: Mapping[str, Any]) -> None:
    if not paths:
        return
    rows = [(path.name, _outcome(path)) for path in paths[-MOST_SWEEPS:]]
    count = f"{len(paths)} sweep{'s' if paths[1:] else ''}" + (", the newest" if paths[MOST_SWEEPS:] else "")
    # As JSON, because a path may have blanks.
    newest = json.dumps({"launch_experiments_dir": str(paths[-1])})
    listed = Invocation.of(request).playbook("list", "-e", newest)
    show(["", *table([count, ""], rows, WIDTH), clean(f"to list the runs of the last one: {listed}")])


def _outcome(path: Path) -> str:
    try:
        return summary(load_sweep(read_text(path / SWEEP) or "").points)
    except ValueError:
        return "its sweep.yml could not be read"


def _experiments(folder: Path) -> list[Path]:
    try:
        paths = [path for path in folder.iterdir() if path.name[0] != "."]
        return [path for path in paths if path.is_dir() and not path.is_symlink()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        why = "it or a directory above it belongs to another user"
        raise UserError(
            f"the controller: {folder} cannot be read, because {why}: run the command as that user, or set "
            "launch_experiments_dir to the directory of your own experiments"
        ) from None
