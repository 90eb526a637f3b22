# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment keeps: `run.yml`, and what the list of experiments tells of it. (`_experiment.py` is private.)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from ansible_collections.muster.train.plugins.plugin_utils._report import first_progress, number
from ansible_collections.muster.train.plugins.plugin_utils._table import one_line, table
from ansible_collections.muster.train.plugins.plugin_utils._verdict import ENDED, Verdict, members

SCHEMA = 1
HEADER = "# What this run was and what became of it. Written by Muster; keys of your own are kept.\n"
# What a later look may know less of: a node whose work directory was emptied remembers nothing.
OUTCOME = ("verdict", "why", "started", "ended", "elapsed_s", "exit_codes", "loss")
# What is kept of an earlier launch of the same run.
ATTEMPT = ("created", "started", "ended", "verdict", "why", "elapsed_s", "loss", "exit_codes", "command", "nonce")
LIST_HEADERS = ("run id", "label", "commit", "verdict", "created (UTC)", "parameters")
COMMIT_SIGNS = 8
# Settings that are the cluster's or nobody's are the same in every run; the label has its own column.
NOT_LISTED = ("label", "run_id", "follow")
# libyaml's where it is there: a list reads hundreds of files.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def record(
    run_id: str,
    plan: Mapping[str, Any] | None,
    request: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    verdict: Verdict | None,
) -> dict[str, Any]:
    """Return the mapping of `run.yml`; without a plan, what a launch's request knows is taken from there."""
    source = plan or (request if request.get("verb") == "launch" else {})
    parameters = {
        name: {"value": setting["value"], "origin": setting["origin"]}
        for name, setting in source.get("parameters", {}).items()
        if setting["value"] not in (None, [], {})
    }
    known = next((run for run in runs if run.get("created")), {})
    progress = first_progress(runs)
    loss = {"first": _rounded(progress.get("first_loss")), "last": _rounded(progress.get("loss"))}
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "label": (parameters.get("label") or {}).get("value") or known.get("label"),
        "verdict": verdict.verdict if verdict else None,
        "why": verdict.why if verdict else None,
        "created": source.get("created") or known.get("created"),
        "started": verdict.started if verdict else None,
        "ended": verdict.ended if verdict else None,
        "elapsed_s": verdict.elapsed_s if verdict else None,
        "exit_codes": verdict.exit_codes if verdict else {},
        "world_size": source.get("world_size") or known.get("world_size"),
        "loss": loss if any(value is not None for value in loss.values()) else None,
        "command": source.get("command"),
        "parameters": parameters,
        "nodes": source.get("nodes") or [run["node"] for run in members(runs)],
        "fabric": (source.get("fabric") or {}).get("value"),
        "code": source.get("code"),
        "versions": source.get("versions"),
        "controller": source.get("controller"),
        "nonce": source.get("nonce") or known.get("nonce"),
    }


def _rounded(loss: object) -> float | None:
    value = number(loss)
    return None if value is None else round(value, 6)


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new record with what only the old one knows of the same launch, and with the user's own keys."""
    own = {key: value for key, value in old.items() if key not in new}
    if old.get("nonce") != new["nonce"] and new["nonce"] is not None:  # launched again by the same run id
        before = own.pop("attempts", None)
        attempts = [*(before if isinstance(before, list) else []), *_attempt(old)]
        return {**new, **({"attempts": attempts} if attempts else {}), **own}
    merged = {key: old.get(key) if value in (None, [], {}) else value for key, value in new.items()}
    if old.get("verdict") in ENDED and new["verdict"] not in ENDED:
        merged.update({key: old.get(key) for key in OUTCOME})
    elif new["verdict"] is not None:
        merged.update({key: new[key] for key in ("why", "ended")})
    return {**merged, **own}


def _attempt(old: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{key: old.get(key) for key in ATTEMPT}] if old.get("nonce") else []


def load(text: str) -> dict[str, Any]:
    """Read `run.yml`; raise ValueError when it is none."""
    try:
        document = yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"no YAML: {one_line(error)}") from error
    if not isinstance(document, dict):
        raise ValueError("no mapping")
    return document


def dump(document: Mapping[str, Any]) -> str:
    """Return `run.yml` for people: in the order of the record, short collections in one line."""
    body: str = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, allow_unicode=True, width=110)
    return HEADER + body


@dataclass(frozen=True)
class Entry:
    """One line of the list. A problem says why `run.yml` could not be read."""

    run_id: str
    label: str = ""
    commit: str = ""
    verdict: str = ""
    created: str = ""
    parameters: str = ""
    problem: str = ""


def summarize(name: str, text: str | None) -> Entry:
    """Return the line of the experiment in the directory of this name; None: it has no run.yml."""
    if text is None:
        return Entry(name, problem="unreadable: no run.yml")
    try:
        document = load(text)
        code = document.get("code") or {}
        commit = str(code.get("commit") or "")[:COMMIT_SIGNS] + ("+" if code.get("dirty") else "")
        settings = (document.get("parameters") or {}).items()
        chosen = [f"{key}={_value(item['value'])}" for key, item in settings if _listed(key, item)]
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        return Entry(name, problem=f"unreadable run.yml: {one_line(error, 80)}")
    return Entry(
        run_id=name,
        label=str(document.get("label") or ""),
        commit=commit,
        verdict=str(document.get("verdict") or "unknown"),
        created=str(document.get("created") or ""),
        parameters=" ".join(chosen),
    )


def _listed(name: str, setting: Mapping[str, Any]) -> bool:
    return name not in NOT_LISTED and str(setting["origin"]).startswith(("-e", "environment"))


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + " ".join(f"{key}={item}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " ".join(str(item) for item in value) + "]"
    return str(value)


def list_table(entries: Iterable[Entry], width: int) -> list[str]:
    """Return the table of experiments, the newest last: next to the prompt; after it what has no date."""
    rows = [
        (
            entry.run_id,
            entry.label,
            entry.commit,
            entry.verdict,
            entry.created.replace("T", " ")[:16],
            entry.problem or entry.parameters,
        )
        for entry in sorted(entries, key=lambda entry: (not entry.created, entry.created, entry.run_id))
    ]
    return table(LIST_HEADERS, rows, width)
