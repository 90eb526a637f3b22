# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents that programs read: one for each verb, with the same head. docs/output.md describes every key."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import Progress, RunRecord

from .._findings.errors import error_record
from . import hangs, transports, unanswered
from .events import attempts_data, gang_of
from .infos import Info, runs_of
from .progress import Sample, eta_s
from .verdict import Verdict, count_ranks, is_idle_spare, members

# The version of all documents: it changes when a key is removed or means something else, not when one is added.
SCHEMA = 1
SAMPLE_EVERY_S = 1.0
OF_RUN: dict[str, Any] = {
    "run_id": None,
    "experiment": None,
    "verdict": None,
    "world_size": None,
    "ended_attempts": [],
    "replaced": {},
    "hang": None,
    "transport": None,
    "nodes": [],
}
OF_SWEEP: dict[str, Any] = {
    **dict.fromkeys(("sweep_id", "folder", "objective", "search", "trials", "best")),
    "points": [],
}
COMPARED = ("runs", "differences", "metrics", "same", "unknown", "repeats")
# What the document of each verb has besides its head, as it is where the verb did not get that far.
KEYS: dict[str, dict[str, Any]] = {
    "launch": {**OF_RUN, "plan": None},
    "benchmark": {**OF_RUN, "plan": None, "benchmark": None},
    "pairs": {**OF_RUN, "plan": None, "pairs": None},
    "accept": {"folder": None, "page": None, "acceptance": None},
    "status": {**OF_RUN, "waiting": [], "job": None},
    "follow": {**OF_RUN, "job": None},
    "stop": {**OF_RUN, "job": None},
    "collect": OF_RUN,
    "submit": dict.fromkeys(("run_id", "experiment", "script", "job")),
    "sweep": OF_SWEEP,
    "logs": {"run_id": None, "lines": []},
    "shell": dict.fromkeys(("run_id", "node", "rank", "container", "directory", "argv", "line")),
    "stacks": {"run_id": None, "directory": None, "groups": [], "ranks": []},
    "list": {"folder": None, "experiments": [], "sweeps": []},
    "note": {"run_id": None, "experiment": None, "notes": []},
    "compare": {"folder": None, **{name: [] for name in COMPARED}},
    "import": {"source": None, "folder": None, "experiments": [], "sweeps": [], "skipped": []},
    "report": {
        **dict.fromkeys(("run_id", "page", "csv", "json", "verdict", "why", "rate", "against", "noise_percent")),
        **dict.fromkeys(("noise_groups", "times", "telemetry")),
        **{name: [] for name in ("curves", "ranks", "stragglers", "remarks", "over", "left_out", "differences")},
        "traces": [],
        **OF_SWEEP,
    },
    "doctor": {"run_id": None, "experiment": None, "file": None, "logs": 0, "bytes": 0, "diagnoses": []},
    "gpus": {"nodes": []},
    "detect": {
        "page": None,
        "document": None,
        "mode": None,
        "fabric": None,
        "nodes": {},
        "findings": [],
        "groups": [],
    },
    "rdma": {
        **dict.fromkeys(("page", "document", "mode", "fabric")),
        "nodes": {},
        "findings": [],
        "groups": [],
    },
    "preflight": {"code": None, "nodes": {}, "fabric": None, "off": [], "results": [], "properties": []},
    "discover": {"inventory": None, "hosts": [], "choices": {}, "findings": []},
    "setup": {"changes": {}, "preflight": None},
    "scale": {**dict.fromkeys(("namespace", "statefulset", "former", "replicas")), "pods": []},
    "teardown": {"check_mode": None, "nodes": []},
}
OF_NODE = ("phase", "why", "alive", "left", "node_rank", "first_rank", "nproc", "ranks", "pids")
OF_END = ("started", "ended", "elapsed_s", "exit_code", "signal", "heartbeat_age_s", "log_dropped", "run_dir")


def document(verb: str, created: str | None, command: str | None, known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a verb from what is known; whether it `failed` is known at its end only."""
    head = {"schema": SCHEMA, "verb": verb, "created": created, "command": command, "failed": True, "errors": []}
    return {**head, **KEYS.get(verb, {}), **known}


def text(data: object, lines: bool = False) -> str:
    """Return a document as JSON, in one line where it is one of several; a number that JSON has no name for is null."""
    return json.dumps(_finite(data), indent=None if lines else 2, allow_nan=False)


def of_run(
    run_id: str | None,
    infos: Sequence[Info],
    verdict: Verdict | None = None,
    replaced: Mapping[str, str] | None = None,
    experiment: str | None = None,
) -> dict[str, Any]:
    """Return what the nodes answered about a run; a node that did not is an error, too."""
    runs = members(runs_of(infos))
    gang = gang_of(runs)
    return {
        "run_id": run_id,
        "experiment": experiment,
        "verdict": verdict.to_dict() if verdict else None,
        "world_size": count_ranks(runs) or None,
        "ended_attempts": attempts_data(gang.ended_attempts),
        "replaced": dict(replaced or gang.replaced),
        "hang": hangs.data(runs),
        "transport": transports.data(runs),
        "nodes": [_node(info) for info in infos],
        "errors": unanswered.errors(infos),
    }


def of_verdict(run_id: str | None, verdict: Verdict) -> dict[str, str | None]:
    """Return the error of a run that did not end as it was expected to."""
    why = f": {verdict.why}" if verdict.why else ""
    observed = verdict.why or verdict.verdict
    return error_record(f"{run_id} {verdict.verdict}{why}", verdict.node, "verdict", observed, "succeeded")


def with_cause(document: Mapping[str, Any], error: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the error that is the cause of the others in front of them."""
    return {**document, "errors": [error, *document["errors"]]}


def of_logs(run_id: str | None, infos: Sequence[Info], limit: int | None, node: str | None, rank: int | None) -> Any:
    """Return the last lines of all nodes, or of one of them or one rank, merged by time."""
    lines = [
        {key: entry.get(key) for key in ("time", "node", "rank", "text")}
        for info in infos
        for entry in info.log
        if node in (None, entry["node"]) and rank in (None, entry["rank"])
    ]
    lines.sort(key=lambda line: str(line["time"]))
    return {"run_id": run_id, "lines": lines[-(limit or len(lines)) :], "errors": unanswered.errors(infos)}


class SampleLines:
    """The lines of a follow: one for each change, at most one a second, and always one for the end."""

    def __init__(self, run_id: str, clock: Callable[[], float]) -> None:
        self._run_id = run_id
        self._clock = clock
        self._printed: Sample | None = None
        self._next = 0.0

    def next_line(self, first: Sample, now: Sample) -> str | None:
        """Return the line of a sample, or None where there is no news or none is due yet."""
        # These change with every read.
        news = dataclasses.replace(now, count=0, elapsed_s=0.0)
        is_due = self._clock() >= self._next or now.phase in ENDED
        if news == self._printed or not is_due:
            return None
        self._printed, self._next = news, self._clock() + SAMPLE_EVERY_S
        return text(of_sample(self._run_id, first, now), lines=True)


def of_sample(run_id: str, first: Sample, now: Sample) -> dict[str, Any]:
    """Return how far a run is; first is the sample that the remaining time is counted from."""
    return {
        "schema": SCHEMA,
        "event": "sample",
        "run_id": run_id,
        "phase": now.phase,
        "verdict": now.verdict,
        "attempt": now.attempt + 1,
        "why": now.why or None,
        "stalled": now.stalled or None,
        "hang": hangs.data_of(now.hang),
        "transport": transports.data_of(now.transport),
        "progress": _progress(now.progress),
        "elapsed_s": now.elapsed_s,
        "eta_s": eta_s(first, now),
    }


def _node(info: Info) -> dict[str, Any]:
    run = info.run
    return {
        "node": info.node,
        "answered": info.answered,
        "spare": is_idle_spare(run),
        **{key: getattr(run, key) for key in OF_NODE},
        "attempt": None if run.attempt is None else run.attempt + 1,
        "progress": _progress(run.progress),
        **{key: getattr(run, key) for key in OF_END},
        "stalled": [node.to_dict() for node in run.stalled],
        "log_tail": list(run.log_tail) if not info.answered or _is_failed(run) else [],
        "remaining": info.remaining.to_dict() if info.remaining else None,
    }


def _is_failed(run: RunRecord) -> bool:
    return run.phase == "failed"


def _progress(progress: Progress | None) -> dict[str, Any] | None:
    return progress.to_dict() if progress else None


def _finite(data: object) -> object:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(item) for item in data]
    return data
