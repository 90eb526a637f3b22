# SPDX-License-Identifier: GPL-3.0-or-later
"""What a verb keeps of a run on the controller: `plan.json`, `run.yml`, and the link `latest`."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json

from .._action.files import read_text
from .._findings.errors import UserError
from .._request.run_id import check
from .._results import experiment
from .._results.infos import Info, runs_of
from .._results.verdict import Verdict, judge
from .step import Play, Symlink, WantedFile

OPTION = "launch_experiments_dir"


@frozen
class Experiment:
    """The files of an experiment as they should be; home is None where there is nothing to write."""

    files: Sequence[WantedFile]
    verdict: Verdict | None
    home: Path | None = None
    links: Sequence[Symlink] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what playbooks read."""
        verdict = self.verdict.to_dict() if self.verdict else None
        return {"verdict": verdict, "experiment": str(self.home) if self.home else None}


def record_run(
    play: Play,
    infos: Sequence[Info],
    run_id: str,
    plan: Mapping[str, Any] | None = None,
    phase: str | None = None,
    only_known: bool = False,
) -> Experiment:
    """Return what is known of a run.

    plan is that of a launch, and phase that of all nodes where they answered before they had joined. With only_known an
    experiment is not begun, and the record of an end stays as it is.
    """
    experiments = Path(play.request["experiments"])
    try:
        home = experiments / check(run_id)
    except ValueError as error:
        raise UserError(f"run_id: expected {error}, saw {run_id!r}") from None
    is_launched, kept_plan = plan is not None, parse_json(read_text(home / "plan.json"))
    files = []
    if plan is None:
        plan = kept_plan if isinstance(kept_plan, dict) else None  # collected from the head
    elif plan != kept_plan:
        files.append(_file(home / "plan.json", json.dumps(plan, indent=2) + "\n"))
    runs = [dataclasses.replace(run, phase=phase or run.phase) for run in runs_of(infos)]
    verdict = judge(runs) if any(info.answered for info in infos) else None
    before = read_text(home / "run.yml")
    unknown = plan is None and verdict is not None and verdict.verdict == "not_found" and not home.exists()
    if unknown or (only_known and before is None):
        # No node or controller knows such a run, or it is another controller's.
        return Experiment([], verdict)
    known, record = _known(before), experiment.record(run_id, plan, play.request, runs, verdict)
    if not (only_known and experiment.is_over(known, record)):
        files.append(_file(home / "run.yml", experiment.dump(experiment.merge(known, record))))
    return Experiment(files, verdict, home, [Symlink(experiments / "latest", home.name, is_launched)])


def experiment_of(play: Play, run_id: str | None) -> str | None:
    """Return the directory of a run's experiment on this controller."""
    experiments = play.request.get("experiments")
    return os.path.join(experiments, run_id) if experiments and run_id else None


def _file(path: Path, text: str) -> WantedFile:
    return WantedFile(path, text, OPTION, is_private=True)


def _known(text: str | None) -> Mapping[str, Any]:
    try:
        return experiment.load(text) if text else {}
    except ValueError:
        return {}  # unreadable: it is written anew
