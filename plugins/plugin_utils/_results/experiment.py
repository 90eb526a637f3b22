# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment keeps: `run.yml`, and its line in the list of experiments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import yaml

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.job import ENDED, SILENT
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord

from .._findings.origin import FOR_ONE_RUN
from .._request.run_id import RUN_ID_FORMAT, label_in, settings_in
from .._text.table import GAP, one_line, table
from .events import attempts_data, gang_of
from .ranks import place_silent, planned
from .report import duration, first_progress, number
from .verdict import Verdict, count_ranks, members

SCHEMA = 1
HEADER = "# What this run was and what became of it. Written by Muster; keys that you add are kept.\n"
# What a later look may know less of: a node whose work directory was emptied remembers nothing.
OUTCOME = ("verdict", "why", "looked", "started", "ended", "elapsed_s", "exit_codes", "loss", "cause", "silent")
# What is kept of an earlier launch of the same run.
ATTEMPT = (
    "created",
    "started",
    "ended",
    "verdict",
    "why",
    "cause",
    "elapsed_s",
    "loss",
    "exit_codes",
    "command",
    "nonce",
)
LIST_HEADERS = ("run id", "label", "commit", "verdict", "loss", "elapsed", "created (UTC)", "parameters")
COMMIT_SIGNS = 8
# Room for the parameters below which columns are left out that the run ids tell as well, and the least that stays.
ENOUGH, LEAST = 24, 12
# More of a run's parameters are in its run.yml.
ARGUMENTS = 1000
UNSEEN = "?"  # after a verdict that may have changed since
# Settings that every run has, and the label, which has its own column.
NOT_LISTED = ("label", "run_id", "follow")
# libyaml's if installed: a list reads hundreds of files.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def record(
    run_id: str,
    plan: Mapping[str, Any] | None,
    request: Mapping[str, Any],
    runs: Sequence[RunRecord],
    verdict: Verdict | None,
) -> dict[str, Any]:
    """Return the mapping of `run.yml`; without a plan, what a launch's request knows is taken from there."""
    source = plan or (request if request.get("verb") == "launch" else {})
    parameters = {
        name: {key: setting[key] for key in ("value", "origin", "layer")}
        for name, setting in source.get("parameters", {}).items()
        if setting["value"] not in (None, [], {})
    }
    known = next((run for run in runs if run.created), RunRecord())
    progress, gang = first_progress(runs), gang_of(members(runs))
    replaced = {**source.get("replaced", {}), **gang.replaced}
    runs = place_silent(runs, planned(plan) or {}, replaced)
    loss = {"first": _rounded(progress and progress.first_loss), "last": _rounded(progress and progress.loss)}
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "label": (parameters.get("label") or {}).get("value") or known.label,
        "verdict": verdict.verdict if verdict else None,
        "why": verdict.why if verdict else None,
        "cause": verdict.cause.to_dict() if verdict and verdict.cause else None,
        # A run that has ended does not change any more.
        "looked": request.get("created") if verdict and verdict.verdict not in ENDED else None,
        "created": source.get("created") or known.created,
        "started": verdict.started if verdict else None,
        "ended": verdict.ended if verdict else None,
        "elapsed_s": verdict.elapsed_s if verdict else None,
        "exit_codes": verdict.exit_codes if verdict else {},
        "ended_attempts": attempts_data(gang.ended_attempts),
        "replaced": replaced,
        "silent": [_silent(run) for run in members(runs) if run.phase in SILENT],
        "warnings": [warning.to_dict() for warning in verdict.warnings] if verdict else [],
        "world_size": _reported_ranks(runs) or source.get("world_size") or known.world_size,
        "loss": loss if any(value is not None for value in loss.values()) else None,
        "command": source.get("command"),
        "parameters": parameters,
        "nodes": source.get("nodes") or [run.node for run in members(runs)],
        "fabric": (source.get("fabric") or {}).get("value"),
        "code": source.get("code"),
        "versions": source.get("versions"),
        "controller": source.get("controller"),
        "nonce": source.get("nonce") or known.nonce,
    }


def _silent(run: RunRecord) -> dict[str, Any]:
    return {name: getattr(run, name) for name in ("node", "node_rank", "first_rank", "nproc", "why")}


def _reported_ranks(runs: Sequence[RunRecord]) -> int:
    """Return how many ranks programs that start them have reported; 0 where the plan has the number."""
    return count_ranks(run for run in members(runs) if run.ranks is not None)


def _rounded(loss: object) -> float | None:
    value = number(loss)
    return None if value is None else float(f"{value:.6g}")


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new record with what only the old one knows of the same launch, and with the user's own keys."""
    extra = {key: value for key, value in old.items() if key not in new}
    if old.get("nonce") != new["nonce"] and new["nonce"] is not None:  # launched again with the same run ID
        before = extra.pop("attempts", None)
        attempts = [*(before if isinstance(before, list) else []), *_attempt(old)]
        return {**new, **({"attempts": attempts} if attempts else {}), **extra}
    merged = {key: old.get(key) if value in (None, [], {}) else value for key, value in new.items()}
    if old.get("verdict") in ENDED and new["verdict"] not in ENDED:
        merged.update({key: old.get(key) for key in OUTCOME})
    elif new["verdict"] is not None:
        merged.update({key: new[key] for key in ("why", "cause", "looked", "ended", "silent")})
    # A head that is silent now may have named spares before.
    merged["replaced"] = {**as_dict(old.get("replaced")), **new["replaced"]}
    return {**merged, **extra}


def _attempt(old: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{key: old.get(key) for key in ATTEMPT}] if old.get("nonce") else []


def load(text: str) -> dict[str, Any]:
    """Read `run.yml`; raise ValueError when it is none."""
    try:
        document = yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"not YAML: {one_line(error)}") from error
    if not isinstance(document, dict):
        raise ValueError("not a mapping")
    return document


def dump(document: Mapping[str, Any]) -> str:
    """Return `run.yml` for people: in the order of the record, short collections in one line."""
    body: str = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, allow_unicode=True, width=110)
    return HEADER + body


@frozen
class ExperimentSummary:
    """One experiment of the list. A problem says why `run.yml` could not be read.

    loss is the last one; ended is False for a verdict that may have changed since; looked is when such a run was last
    seen. Times are UTC.
    """

    run_id: str
    label: str = ""
    commit: str = ""
    verdict: str = ""
    loss: float | None = None
    elapsed_s: float | None = None
    created: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    looked: str = ""
    ended: bool = True

    def to_dict(self) -> dict[str, Any]:
        # JSON has no name for a loss that is not finite.
        return {**asdict(self), "loss": self.loss if self.loss is None or math.isfinite(self.loss) else None}


def summarize(name: str, text: str | None) -> ExperimentSummary:
    """Return the summary of the experiment in the directory of this name; None: it has no run.yml."""
    if text is None:
        return ExperimentSummary(name, problem="unreadable: no run.yml")
    try:
        document = load(text)
        code = document.get("code") or {}
        commit = str(code.get("commit") or "")[:COMMIT_SIGNS] + ("+" if code.get("dirty") else "")
        settings = (document.get("parameters") or {}).items()
        chosen = {str(key): item["value"] for key, item in settings if _listed(key, item)}
        loss = number((document.get("loss") or {}).get("last"))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        return ExperimentSummary(name, problem=f"unreadable run.yml: {one_line(error, 80)}")
    verdict = document.get("verdict")
    return ExperimentSummary(
        run_id=name,
        label=str(document.get("label") or ""),
        commit=commit,
        verdict=str(verdict or "unknown"),
        loss=loss,
        elapsed_s=number(document.get("elapsed_s")),
        created=str(document.get("created") or ""),
        parameters=chosen,
        looked=str(document.get("looked") or ""),
        ended=not verdict or verdict in ENDED,
    )


def unseen(entries: Iterable[ExperimentSummary]) -> list[ExperimentSummary]:
    """Return the runs that had not ended when they were last collected, the newest last."""
    return by_age(entry for entry in entries if not entry.ended)


def _listed(name: str, setting: Mapping[str, Any]) -> bool:
    return name not in NOT_LISTED and setting["layer"] in FOR_ONE_RUN


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + " ".join(f"{key}={item}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " ".join(str(item) for item in value) + "]"
    return str(value)


def by_age(entries: Iterable[ExperimentSummary]) -> list[ExperimentSummary]:
    """Return the experiments, the newest last, and after them those without a date."""
    return sorted(entries, key=lambda entry: (not entry.created, entry.created, entry.run_id))


def list_table(entries: Iterable[ExperimentSummary], width: int) -> list[str]:
    """Return the table of experiments, the newest last: next to the prompt; after it what has no date.

    Each is one line. Where the width does not do, what the run ids tell as well is left out, and the rest is cut.
    """
    ordered = by_age(entries)
    columns = [
        (
            entry.run_id,
            entry.label,
            entry.commit,
            _verdict(entry),
            "" if entry.loss is None else f"{entry.loss:.3g}",
            duration(entry.elapsed_s),
            minute(entry.created),
        )
        for entry in ordered
    ]
    readable = (entry for entry in ordered if entry.created)
    if _room(columns, width) < ENOUGH and all(RUN_ID_FORMAT.fullmatch(entry.run_id) for entry in readable):
        columns = [(*row[:-1], "") for row in columns]
    if _room(columns, width) < ENOUGH and all(entry.label in ("", label_in(entry.run_id)) for entry in ordered):
        columns = [(row[0], "", *row[2:]) for row in columns]
    room = max(LEAST, _room(columns, width))
    rows = [(*row, _parameters(entry, room)) for row, entry in zip(columns, ordered, strict=True)]
    return table(LIST_HEADERS, rows, max(width, width - _room(columns, width) + room))


def _verdict(entry: ExperimentSummary) -> str:
    return entry.verdict if entry.ended else f"{entry.verdict}{UNSEEN}"


def _room(columns: Sequence[Sequence[str]], width: int) -> int:
    """Return what the columns leave for the last one."""
    texts = [[header, *cells] for header, *cells in zip(LIST_HEADERS[:-1], *columns, strict=True)]
    return width - sum(max(map(len, cells)) + len(GAP) for cells in texts if any(cells[1:]))


def _parameters(entry: ExperimentSummary, room: int) -> str:
    if entry.problem:
        return one_line(entry.problem, room)
    settings = [f"{name}={_value(value)}" for name, value in entry.parameters.items()]
    line = one_line(" ".join(settings), ARGUMENTS)
    if len(line) <= room:
        return line
    shown = settings_in(entry.run_id)
    return one_line(" ".join(setting for setting in settings if setting not in shown), room)


def minute(stamp: str) -> str:
    """Return ``2026-11-20 14:30`` for 2026-11-20T14:30:52Z."""
    return stamp.replace("T", " ")[:16]
