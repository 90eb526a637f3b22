# SPDX-License-Identifier: GPL-3.0-or-later
"""What an experiment keeps: `run.yml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED, SILENT
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._records.transport_verdict import describe

from .._request.verbs import LAUNCHES
from .._text.table import one_line
from .events import attempts_data, gang_of
from .progress import reached
from .ranks import place_silent, planned
from .report import first_progress
from .rows import number
from .transports import transport_of
from .verdict import Verdict, count_ranks, members

SCHEMA = 1
HEADER = "# What this run was and what became of it. Written by Muster; keys that you add are kept.\n"
# What a later look may know less of: a node whose work directory was emptied remembers nothing.
OUTCOME = (
    "verdict",
    "why",
    "looked",
    "started",
    "first_step",
    "last_step",
    "ended",
    "elapsed_s",
    "exit_codes",
    "loss",
    "progress",
    "cause",
    "silent",
)
# What is kept of an earlier launch of the same run.
ATTEMPT = (
    *("created", "started", "ended", "verdict", "why", "cause", "elapsed_s", "loss", "exit_codes"),
    *("command", "nonce"),
)
# libyaml's if installed: a list reads hundreds of files, and every launch writes one.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def record(
    run_id: str,
    plan: Mapping[str, Any] | None,
    request: Mapping[str, Any],
    runs: Sequence[RunRecord],
    verdict: Verdict | None,
) -> dict[str, Any]:
    """Return the mapping of `run.yml`; without a plan, what a launch's request knows is taken from there."""
    source = plan or (request if request.get("verb") in LAUNCHES else {})
    parameters = {
        name: {key: setting[key] for key in ("value", "origin", "layer")}
        for name, setting in source.get("parameters", {}).items()
        if setting["value"] not in (None, [], {})
    }
    known = next((run for run in runs if run.created), RunRecord())
    progress, gang, transport = first_progress(runs), gang_of(members(runs)), transport_of(members(runs))
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
        "first_step": min((run.first_step for run in members(runs) if run.first_step), default=None),
        "last_step": max((run.last_step for run in members(runs) if run.last_step), default=None),
        "ended": verdict.ended if verdict else None,
        "elapsed_s": verdict.elapsed_s if verdict else None,
        "exit_codes": verdict.exit_codes if verdict else {},
        "ended_attempts": attempts_data(gang.ended_attempts),
        "replaced": replaced,
        "silent": [_silent(run) for run in members(runs) if run.phase in SILENT],
        "warnings": [warning.to_dict() for warning in verdict.warnings] if verdict else [],
        "world_size": _reported_ranks(runs) or source.get("world_size") or known.world_size,
        "loss": loss if any(value is not None for value in loss.values()) else None,
        "progress": reached(progress),
        "command": source.get("command"),
        "parameters": parameters,
        "cluster": source.get("cluster"),
        "options": source.get("options"),
        "nodes": source.get("nodes") or [run.node for run in members(runs)],
        "fabric": (source.get("fabric") or {}).get("value"),
        "transport": describe(transport) if transport else None,
        "transport_verdict": transport.verdict if transport else None,
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


def is_over(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether the old record has the end of this launch, of which a look at the head alone may say less."""
    return old.get("verdict") in ENDED and new["nonce"] in (None, old.get("nonce"))


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
    """Return `run.yml` for people."""
    return HEADER + to_yaml(document)


def to_yaml(document: Mapping[str, Any]) -> str:
    """Return a document in the order of its keys, short collections in one line."""
    style: dict[str, Any] = {"sort_keys": False, "default_flow_style": None, "allow_unicode": True, "width": 110}
    text: str = yaml.dump(dict(document), Dumper=_DUMPER, **style)
    return text
