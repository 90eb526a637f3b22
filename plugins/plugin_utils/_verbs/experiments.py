# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of experiments: what lies there, and the records of its runs, by their names or the newest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import read_text
from .._findings.errors import UserError
from .._request.hints import command
from .._results.experiment import load
from .._results.summary import ExperimentSummary, by_age, summarize
from .._text.nearest import nearest, question
from .step import Play

RECORD = "run.yml"


def directories(folder: Path) -> list[Path]:
    """Return the directories of experiments and of sweeps; raise UserError if they cannot be read."""
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


def newest(play: Play, count: int) -> list[str]:
    """Return the run IDs of the newest experiments, the newest last; raise UserError if there is none."""
    folder = Path(play.request["experiments"])
    entries = [summarize(path.name, read_text(path / RECORD)) for path in directories(folder)]
    dated: list[ExperimentSummary] = by_age(entry for entry in entries if entry.created)
    if not dated:
        raise UserError(clean(f"no run in {folder}; {_launch(play)}"))
    return [entry.run_id for entry in dated[-count:]]


def read_record(play: Play, run_id: str) -> Mapping[str, Any]:
    """Return the record of a run; raise UserError if there is none, or if it cannot be read."""
    folder = Path(play.request["experiments"])
    text = read_text(folder / run_id / RECORD)
    if text is None:
        names = [path.name for path in directories(folder) if (path / RECORD).is_file()]
        remedy = question(nearest(run_id, names)) + "see muster.train.list" if names else _launch(play)
        raise UserError(clean(f"no run {run_id} in {folder}; {remedy}"))
    if problem := summarize(run_id, text).problem:
        again = command("collect", run_id, play.request.get("call"))
        raise UserError(clean(f"{run_id}: {problem}; correct it, or write it anew: {again}"))
    return load(text)


def _launch(play: Play) -> str:
    return f"to make one: {command('launch', None, play.request.get('call'))}"
