# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_experiment`: keeps `plan.json` and `run.yml` of a run, and points `latest` at it."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.plugin_utils._action.base import ControllerAction
from ansible_collections.muster.train.plugins.plugin_utils._action.files import diff, read_text, write_text
from ansible_collections.muster.train.plugins.plugin_utils._action.private import private_files
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._request.run_id import check
from ansible_collections.muster.train.plugins.plugin_utils._results import experiment
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import (
    RESULT_OPTIONS,
    answers,
    run_id_of,
    runs_of,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge

OPTIONS = {
    **RESULT_OPTIONS,
    "plan": {"type": "dict"},
    "experiments": {"type": "path"},
    "phase": {"type": "str"},
    "only_known": {"type": "bool", "default": False},
}


class ActionModule(ControllerAction):
    """Write, once for all hosts, what is known of a run."""

    OPTIONS = OPTIONS

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        request, plan = args["request"], args["plan"]
        infos = answers(variables, args)
        run_id = str(run_id_of(infos, args["run_id"], request.get("run_id")))
        experiments = Path(args["experiments"] or request["experiments"])
        try:
            home = experiments / check(run_id)
        except ValueError as error:
            raise UserError(f"run_id: expected {error}, saw {run_id!r}") from None
        wanted = {}
        if plan is None:
            plan = _json(home / "plan.json")  # collected from the head
        elif plan != _json(home / "plan.json"):
            wanted["plan.json"] = json.dumps(plan, indent=2) + "\n"
        # In a launch the nodes answered before all of them had joined.
        runs = [dataclasses.replace(run, phase=args["phase"] or run.phase) for run in runs_of(infos)]
        verdict = judge(runs) if any(info.answered for info in infos) else None
        before = read_text(home / "run.yml")
        unknown = plan is None and verdict is not None and verdict.verdict == "not_found" and not home.exists()
        if unknown or (args["only_known"] and before is None):
            # No node or controller knows such a run, or it is another controller's: there is nothing to write.
            return {"run_id": run_id, "verdict": verdict.to_dict() if verdict else None, "experiment": None}
        known, record = _known(before), experiment.record(run_id, plan, request, runs, verdict)
        if not (args["only_known"] and experiment.is_over(known, record)):
            wanted["run.yml"] = experiment.dump(experiment.merge(known, record))
        changes = {name: text for name, text in wanted.items() if text != read_text(home / name)}
        diffs = [diff(home / name, read_text(home / name), text) for name, text in changes.items()]
        if changes and not self._task.check_mode:
            with private_files():
                for name, text in changes.items():
                    write_text(home / name, text, "launch_experiments_dir", "a directory that you can write to")
                _point(experiments / "latest", home, launched=args["plan"] is not None)
        return {
            "changed": bool(changes),
            "run_id": run_id,
            "verdict": verdict.to_dict() if verdict else None,
            "experiment": str(home),
            "diff": diffs,
        }


def _json(path: Path) -> dict[str, Any] | None:
    document = parse_json(read_text(path))
    return document if isinstance(document, dict) else None


def _known(text: str | None) -> Mapping[str, Any]:
    try:
        return experiment.load(text) if text else {}
    except ValueError:
        return {}  # unreadable: it is written anew


def _point(link: Path, home: Path, launched: bool) -> None:
    """Point `latest` at a launch; at a collected run only if it points nowhere. A file of that name is left alone."""
    if (link.exists() and not launched) or (os.path.lexists(link) and not link.is_symlink()):
        return
    new = link.with_name(f".{link.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(home.name, target_is_directory=True)
    new.replace(link)
