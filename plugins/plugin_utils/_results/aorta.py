# SPDX-License-Identifier: GPL-3.0-or-later
"""An experiment of the aorta scripts (`multinode_28ch_256th_20251219_140715[_label]`), as a record of `list`.

What there is to read: the name of the directory, `experiment_info.txt` (of newer scripts), the log of each node, and
the metrics of rank 0. Their times are local ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json

from .._findings.origin import Layer, Origin
from .._request.run_id import RUN_ID_FORMAT
from . import experiment
from .notes import KEY as NOTES
from .notes import Note, notes_of
from .rows import number

INFO = "experiment_info.txt"
# The key of `run.yml` that says where an imported experiment lies.
SOURCE = "imported_from"
ORIGIN = Origin(Layer.EARLIER, "aorta")
STAMP_FORMAT = "%Y-%m-%d %H:%M:%S"
# Name in experiment_info.txt, and the parameter of `launch` that it became.
PARAMETERS = {
    "Config file": "config",
    "NCCL Channels": "channels",
    "RCCL Threads": "threads",
    "Processes per node": "nproc",
    "rocprof enabled": "rocprof",
}
_ENTRY = re.compile(r"(?:- )?([A-Za-z_ ]+): (.*)")
_NOTE = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] ", re.MULTILINE)
_NODE = re.compile(r"^(Node Rank|Node IP|World Size|Processes per node|Config File): (.+)$", re.MULTILINE)
_END = re.compile(r"Training (?:completed successfully|failed with exit code: (\d{1,9})) \(duration: (\d{1,9})s\)")
_WHOLE = re.compile(r"([0-9]{1,9})(?: GPUs)?")
_INTERRUPTED = "=== Caught interrupt signal ==="
_TRUE, _UNKNOWN = "true", ("", "N/A", "not-a-git-repo", "unlabeled")


@frozen
class AortaInfo:
    """What `experiment_info.txt` says; entries are those of its lines, by their names. Notes have local times."""

    entries: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None
    notes: Sequence[tuple[str, str]] = ()


@frozen
class AortaNode:
    """What the log of a node says: exit_code is None for one that has no end, which ^C explains if was_interrupted."""

    name: str
    entries: Mapping[str, str]
    exit_code: int | None = None
    elapsed_s: float | None = None
    was_interrupted: bool = False


def parse_info(text: str) -> AortaInfo:
    """Read `experiment_info.txt`; lines that are something else are left out."""
    about, _title, rest = text.partition("\nCommand:\n")
    command, _title, noted = rest.partition("\nNotes:\n")
    entries = {match[1]: match[2].strip() for match in map(_ENTRY.fullmatch, about.splitlines()) if match}
    # The text before the first time, which is the script's own, and then a time and a text for each note.
    _before, *parts = _NOTE.split(noted)
    notes = [(at, " ".join(part.split())) for at, part in zip(parts[::2], parts[1::2], strict=True)]
    return AortaInfo(entries, command.strip() or None, notes)


def parse_node_log(text: str, name: str) -> AortaNode:
    """Read a node's log; name is that of a node whose log does not have it."""
    entries = {match[1]: match[2].strip() for match in _NODE.finditer(text)}
    end = next(reversed([*_END.finditer(text)]), None)
    return AortaNode(
        name=entries.get("Node IP", name),
        entries=entries,
        exit_code=int(end[1] or 0) if end else None,
        elapsed_s=float(end[2]) if end else None,
        was_interrupted=_INTERRUPTED in text,
    )


def parse_metrics(text: str) -> tuple[dict[str, float] | None, dict[str, int] | None]:
    """Return the first and the last loss and the last step in lines of metrics, each None where there is none."""
    samples = [as_dict(parse_json(line)) for line in text.splitlines()]
    losses = [value for sample in samples if (value := number(sample.get("loss"))) is not None]
    steps = [
        value for sample in samples if (value := number(sample.get("global_step"))) is not None and isfinite(value)
    ]
    loss = {"first": losses[0], "last": losses[-1]} if losses else None
    return loss, {"step": int(steps[-1])} if steps else None


def judge_nodes(nodes: Sequence[AortaNode]) -> tuple[str, str | None]:
    """Return the verdict of a run, and why it is not `succeeded`."""
    failed = [node for node in nodes if node.exit_code]
    if failed:
        return "failed", f"{failed[0].name}: exit code {failed[0].exit_code}"
    if interrupted := next((node for node in nodes if node.was_interrupted), None):
        return "stopped", f"{interrupted.name}: interrupted"
    if open_ended := next((node for node in nodes if node.exit_code is None), None):
        return "lost", f"{open_ended.name}: its log has no end"
    return ("succeeded", None) if nodes else ("lost", "no log of a node")


def record_of(
    name: str,
    source: str,
    info: AortaInfo,
    nodes: Sequence[AortaNode],
    metrics: str,
    to_utc: Callable[[str], str | None],
) -> dict[str, Any]:
    """Return the mapping of `run.yml`; raise ValueError if the name is not that of such an experiment.

    name: the directory's; source: its path; metrics: lines of rank 0; to_utc: converts a local time in STAMP_FORMAT.
    """
    match = RUN_ID_FORMAT.fullmatch(name)
    if not match or not match["channels"]:
        raise ValueError(
            "it is neither an experiment such as multinode_28ch_256th_20251219_140715 nor a sweep with runs in it"
        )
    verdict, why = judge_nodes(nodes)
    loss, progress = parse_metrics(metrics)
    times = [node.elapsed_s for node in nodes if node.elapsed_s is not None]
    first = nodes[0].entries if nodes else {}
    settings = {
        "channels": match["channels"],
        "threads": match["threads"],
        "config": first.get("Config File"),
        "nproc": first.get("Processes per node"),
        **{parameter: info.entries.get(entry) for entry, parameter in PARAMETERS.items() if entry in info.entries},
    }
    sizes = [size for node in nodes if (size := _whole(node.entries.get("World Size"))) is not None]
    return {
        **experiment.record(name, None, {}, [], None),
        "label": match["label"],
        "verdict": verdict,
        "why": why,
        "created": to_utc(stamp_of(match["time"])),
        "elapsed_s": max(times, default=None),
        "exit_codes": {node.name: node.exit_code for node in nodes if node.exit_code is not None},
        "world_size": max(sizes, default=None),
        "loss": loss,
        "progress": progress,
        "command": info.command,
        "parameters": _parameters(settings, info.entries.get("AMD_OCL_WAIT_COMMAND") == _TRUE),
        "nodes": [node.name for node in nodes],
        "code": _code(info),
        NOTES: [Note(to_utc(at) or at, "", text).to_dict() for at, text in info.notes],
        SOURCE: source,
    }


def merge_record(before: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of an experiment that is imported once more, with what users have added to the earlier one."""
    added = [note.to_dict() for note in notes_of(before) if note.to_dict() not in record[NOTES]]
    return {**experiment.merge(before, record), NOTES: [*record[NOTES], *added]}


def stamp_of(time: str) -> str:
    """Return a time in the name of a directory, 20251219_140715, as logs have it."""
    return f"{time[:4]}-{time[4:6]}-{time[6:8]} {time[9:11]}:{time[11:13]}:{time[13:]}"


def in_rank_order(nodes: Iterable[AortaNode]) -> list[AortaNode]:
    """Return the nodes in the order of their ranks."""
    return sorted(nodes, key=lambda node: node.entries.get("Node Rank", "").zfill(9))


def _parameters(settings: Mapping[str, str | None], waits: bool) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, text in settings.items():
        if name == "rocprof":
            values |= {name: True} if text == _TRUE else {}
        elif text and name != "config":
            values |= {name: whole} if (whole := _whole(text)) is not None else {}
        elif text:
            values[name] = text
    if waits:
        values["env"] = {"AMD_OCL_WAIT_COMMAND": "1"}
    return {name: {"value": value, **ORIGIN.to_dict()} for name, value in values.items()}


def _whole(text: str | None) -> int | None:
    match = _WHOLE.fullmatch(text or "")
    return int(match[1]) if match else None


def _code(info: AortaInfo) -> dict[str, Any] | None:
    entries = {name: value for name, value in info.entries.items() if value not in _UNKNOWN}
    if "Commit Hash" not in entries:
        return None
    branch, status = entries.get("Branch"), entries.get("Status")
    return {"commit": entries["Commit Hash"], "branch": branch, "dirty": status == "modified"}
