# SPDX-License-Identifier: GPL-3.0-or-later
"""One experiment of the list: what `run.yml` says of it, and which ones are listed in what order."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED

from .._findings.errors import UserError
from .._findings.origin import FOR_ONE_RUN
from .._request.conditions import parse_conditions, parse_order, sort_key
from .._text.nearest import nearest, question
from .._text.table import one_line
from .experiment import load
from .notes import Note, notes_of
from .rows import number

COMMIT_SIGNS = 8
# Settings that every run has, the label, which has its own column, and what is about the command, not about the run.
NOT_LISTED = ("label", "run_id", "follow", "output", "all", "sync", "wait", "page", "lines")
# Parts of run.yml that say nothing of the run, or less than `values_of` makes of them.
NOT_A_VALUE = ("schema", "nonce", "run_id", "loss", "nodes", "options", "looked", "notes")
# What every run has a name for, whether or not it is known.
NAMES = (
    "run_id",
    "label",
    "cluster",
    "commit",
    "verdict",
    "loss",
    "first_loss",
    "elapsed_s",
    "created",
    "started",
    "ended",
)
OTHER_NAMES = {"elapsed": "elapsed_s"}


@frozen
class ExperimentSummary:
    """One experiment of the list. A problem says why `run.yml` could not be read.

    loss is the last one; ended is False for a verdict that may have changed since; looked is when such a run was last
    seen. parameters are those chosen for this run, values is all that is known of it, by the names that conditions use.
    options are those of ansible-playbook that reach its nodes, None if they are not known. Times are UTC. notes are in
    their order, the newest last.
    """

    run_id: str
    label: str = ""
    cluster: str = ""
    commit: str = ""
    verdict: str = ""
    loss: float | None = None
    elapsed_s: float | None = None
    created: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    looked: str = ""
    ended: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)
    options: Sequence[str] | None = None
    notes: Sequence[Note] = ()

    def to_dict(self) -> dict[str, Any]:
        values = {name: _finite(value) for name, value in self.values.items()}
        return {**asdict(self), "loss": _finite(self.loss), "values": values}


def _finite(value: Any) -> Any:
    """Return None for a number for which JSON has no name."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def summarize(name: str, text: str | None) -> ExperimentSummary:
    """Return the summary of the experiment in the directory of this name; None: it has no run.yml."""
    if text is None:
        return ExperimentSummary(name, problem="unreadable: no run.yml", values={"run_id": name})
    try:
        document = load(text)
        settings = (document.get("parameters") or {}).items()
        chosen = {str(key): item["value"] for key, item in settings if _listed(key, item)}
        values = values_of(name, document)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        problem = f"unreadable run.yml: {one_line(error, 80)}"
        return ExperimentSummary(name, problem=problem, values={"run_id": name})
    verdict, options = document.get("verdict"), document.get("options")
    return ExperimentSummary(
        run_id=name,
        label=str(values["label"] or ""),
        cluster=str(values["cluster"] or ""),
        commit=str(values["commit"] or ""),
        verdict=str(verdict or "unknown"),
        loss=values["loss"],
        elapsed_s=values["elapsed_s"],
        created=str(values["created"] or ""),
        parameters=chosen,
        looked=str(document.get("looked") or ""),
        ended=not verdict or verdict in ENDED,
        values=values,
        options=[str(word) for word in options] if isinstance(options, list) else None,
        notes=tuple(notes_of(document)),
    )


def values_of(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything of a run that has one value, also what its user wrote into `run.yml`."""
    code, loss = document.get("code") or {}, document.get("loss") or {}
    commit = str(code.get("commit") or "")[:COMMIT_SIGNS] + ("+" if code.get("dirty") else "")
    known = {
        **{key: document.get(key) for key in NAMES},
        "run_id": name,
        "verdict": document.get("verdict") or "unknown",
    }
    known.update(commit=commit, loss=number(loss.get("last")), first_loss=number(loss.get("first")))
    known["elapsed_s"] = number(document.get("elapsed_s"))
    values = dict(known)
    for key, value in document.items():
        if key not in NOT_A_VALUE and _is_one_value(value):
            values.setdefault(str(key), value)
    for part in ("progress", "metrics"):
        for key, value in as_dict(document.get(part)).items():
            if _is_one_value(value):
                values.setdefault(str(key), value)
    for key, setting in (document.get("parameters") or {}).items():
        if key not in NOT_LISTED:
            for variable, value in parameter_values(str(key), setting["value"]).items():
                values.setdefault(variable, value)
    if notes := notes_of(document):
        values.setdefault("note", "; ".join(note.text for note in reversed(notes)))
    return values


def parameter_values(name: str, value: Any) -> dict[str, Any]:
    """Return a parameter as single values: `env.NAME` for each variable, arguments in one line."""
    if isinstance(value, dict):
        return {f"{name}.{key}": str(item) for key, item in value.items()}
    return {name: shlex.join(map(str, value)) if isinstance(value, list) else value}


def _is_one_value(value: object) -> bool:
    return value is not None and not isinstance(value, (dict, list))


def _listed(name: str, setting: Mapping[str, Any]) -> bool:
    return name not in NOT_LISTED and setting["layer"] in FOR_ONE_RUN


def by_age(entries: Iterable[ExperimentSummary]) -> list[ExperimentSummary]:
    """Return the experiments, the newest last, and after them those without a date."""
    return sorted(entries, key=lambda entry: (not entry.created, entry.created, entry.run_id))


def unseen(entries: Iterable[ExperimentSummary]) -> list[ExperimentSummary]:
    """Return the runs that had not ended when they were last collected, the newest last."""
    return by_age(entry for entry in entries if not entry.ended)


def select(
    entries: Iterable[ExperimentSummary],
    parameters: Iterable[str],
    where: str | None,
    sort: str | None,
    last: int | None,
) -> list[ExperimentSummary]:
    """Return the runs that meet all conditions, of these the `last` newest, in this order (None: the newest last).

    A run without the value comes last. `parameters` are the names that a run may have; raise UserError for another.
    """
    chosen = by_age(entries)
    names = {*NAMES, *parameters, *(name for entry in chosen for name in entry.values)}
    for condition in parse_conditions(where or ""):
        name = known_name("where", condition.name, names)
        met = type(condition)(name, condition.operator, condition.text)
        chosen = [entry for entry in chosen if met.holds(entry.values)]
    if last is not None:
        dated = [entry for entry in chosen if entry.created]
        chosen = dated[-last:]
    if sort:
        order = parse_order(sort)
        name = known_name("sort", order.name, names)
        with_value = [entry for entry in chosen if entry.values.get(name) not in (None, "")]
        without = [entry for entry in chosen if entry.values.get(name) in (None, "")]
        with_value.sort(key=lambda entry: sort_key(entry.values[name]), reverse=order.descending)
        chosen = [*with_value, *without]
    return chosen


def known_name(parameter: str, name: str, names: Iterable[str]) -> str:
    """Return a name by which runs are known; raise UserError for one that is not among the names of their values."""
    name = OTHER_NAMES.get(name, name)
    if name in names:
        return name
    guess = question(nearest(name, names))
    raise UserError(f"{parameter}: no run has '{name}'; {guess}runs have {', '.join(sorted(names))}")
