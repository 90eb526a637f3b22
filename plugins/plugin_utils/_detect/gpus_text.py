# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs of the cluster and their users as a table: of many GPUs, those that are alike share a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import GpuProcess
from ansible_collections.muster.train.plugins.module_utils._text.spans import spans

from .._cluster.node import Node
from .._text.table import node_names, one_line, table
from .gpus_in_use import GpuInUse, gpus_of, run_ids
from .rows import MAKERS
from .topology import short_name

HEADERS = ("node", "GPU", "name", "ranks", "load", "GiB in use", "°C", "used by")
# So many GPUs have a row each, which fits a screen with the summary.
FEW_GPUS = 16
MOST_ROWS = 32
MORE = "-e all=true shows each GPU"
IDLE, UNKNOWN = "idle", "processes not known"
UNCERTAIN = "or on another GPU of the node"
NO_GPU = "no GPU that a process here can open"
UNREAD = "the GPUs could not be read"


@frozen
class GpuRow:
    """GPUs that share a row: of these nodes, each node's with the same numbers."""

    nodes: list[str]
    indexes: tuple[int, ...]
    gpus: list[GpuInUse]


def lines_of(nodes: Sequence[Node], width: int, every: bool) -> list[str]:
    """Return the table and, below it, how many GPUs are idle."""
    known = {node.name: gpus_of(node) for node in nodes}
    gpus = [gpu for node_gpus in known.values() for gpu in node_gpus or ()]
    single = every or len(gpus) <= FEW_GPUS
    rows = [_cells(row, single) for row in (_single(known) if single else _groups(known))]
    shown = rows if single or len(rows) <= MOST_ROWS else rows[: MOST_ROWS - 1]
    hidden = [f"and {len(rows) - len(shown)} more rows: {MORE}"] if len(rows) > len(shown) else []
    parts = [[*table(HEADERS, shown, width), *hidden], _without(nodes, known), _summary(known, gpus)]
    return [line for part in parts if part for line in ("", *part)][1:]


def _single(known: Mapping[str, Sequence[GpuInUse] | None]) -> list[GpuRow]:
    return [GpuRow([name], (gpu.device.index,), [gpu]) for name, gpus in known.items() for gpu in gpus or ()]


def _groups(known: Mapping[str, Sequence[GpuInUse] | None]) -> list[GpuRow]:
    """Return the rows in the order of their first node: by node the GPUs that are alike, then the nodes that are."""
    rows: dict[tuple[object, ...], GpuRow] = {}
    for name, gpus in known.items():
        alike: dict[tuple[object, ...], list[GpuInUse]] = {}
        for gpu in gpus or ():
            alike.setdefault(_likeness(gpu), []).append(gpu)
        for key, members in alike.items():
            indexes = tuple(gpu.device.index for gpu in members)
            row = rows.setdefault((key, indexes), GpuRow([], indexes, []))
            row.nodes.append(name)
            row.gpus.extend(members)
    return list(rows.values())


def _likeness(gpu: GpuInUse) -> tuple[object, ...]:
    device = gpu.device
    return device.name, device.partition, device.memory_mib, gpu.state.trouble, gpu.certain, tuple(_owners(gpu))


def _cells(row: GpuRow, single: bool) -> list[str]:
    gpu = row.gpus[0]
    states, total = [item.state for item in row.gpus], gpu.device.memory_mib
    used = _between([f"{value / 1024:.1f}" for value in _known(state.memory_used_mib for state in states)])
    size = "" if total is None else f"/{total / 1024:.0f}"
    owners, doubt = _owners(gpu), [] if gpu.certain else [UNCERTAIN]
    processes = [_process(process) for process in gpu.processes or ()] if single else []
    return [
        node_names(row.nodes),
        spans(row.indexes),
        one_line(" ".join(filter(None, [short_name(gpu.device.name), gpu.device.partition])), 40),
        spans(rank for item in row.gpus for rank in item.ranks),
        _between([f"{value}%" for value in _known(state.load_percent for state in states)]),
        f"{used or '?'}{size}" if used or size else "",
        _between([str(value) for value in _known(state.temperature_c for state in states)]),
        "; ".join([*([one_line(gpu.state.trouble)] if gpu.state.trouble else []), *(processes or owners), *doubt]),
    ]


def _known(values: Iterable[int | None]) -> list[int]:
    return sorted(value for value in values if value is not None)


def _between(texts: Sequence[str]) -> str:
    """Return ``3%-97%`` of sorted texts, one where they are the same."""
    return "-".join(dict.fromkeys([*texts[:1], *texts[-1:]]))


def _owners(gpu: GpuInUse) -> list[str]:
    """Return who uses it, each once: runs, and the programs of others; in the same words on all nodes."""
    if gpu.processes is None:
        return [UNKNOWN]
    return sorted({_owner(process) for process in gpu.processes}) or [IDLE]


def _owner(process: GpuProcess) -> str:
    if process.run_id:
        return f"run {one_line(process.run_id)}"
    return f"{_user(process)}: {one_line(process.command or 'unknown program')}"


def _user(process: GpuProcess) -> str:
    number = "an unknown user" if process.uid is None else f"uid {process.uid}"
    return one_line(process.user) if process.user else number


def _process(process: GpuProcess) -> str:
    run = f"run {one_line(process.run_id)}, " if process.run_id else ""
    return f"{run}{_user(process)}: {one_line(process.command or 'unknown program')} (PID {process.pid})"


def _without(nodes: Sequence[Node], known: Mapping[str, Sequence[GpuInUse] | None]) -> list[str]:
    """Return a line for the nodes that show no GPU, by the reason."""
    reasons: dict[str, list[str]] = {}
    for node in nodes:
        if not known[node.name]:
            vendor = MAKERS.get(node.gpu.vendor or "") if node.gpu else None
            closed = f"{vendor} GPUs, but this user can open none" if vendor else NO_GPU
            reasons.setdefault(closed if node.gpu else UNREAD, []).append(node.name)
    return [f"{node_names(names)}: {reason}" for reason, names in reasons.items()]


def _summary(known: Mapping[str, Sequence[GpuInUse] | None], gpus: Sequence[GpuInUse]) -> list[str]:
    """Return ``1024 GPUs on 128 nodes: 8 idle, 1016 in use, by 1 run``, nothing without GPUs."""
    nodes = sum(map(bool, known.values()))
    count = f"{len(gpus)} GPU{'s' * (len(gpus) != 1)} on {nodes} node{'s' * (nodes != 1)}"
    certain = [gpu.processes for gpu in gpus if gpu.certain and gpu.processes is not None]
    used = sum(map(bool, certain))
    counts = {IDLE: len(certain) - used, "in use": used, "not known": len(gpus) - len(certain)}
    states = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    runs = run_ids(gpus)
    return [f"{count}: {states}" + (f", by {len(runs)} run{'s' * (len(runs) != 1)}" if runs else "")] if gpus else []
