# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark's ranks run, and what keeps them from it: sizes and backend depend on what the nodes are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._cluster.node import Node
from .._findings.finding import Finding
from .._findings.origin import DEFAULT
from .._request.byte_size import size_text
from .._request.settings import setting_values

VERB = "benchmark"
NCCL, GLOO = "nccl", "gloo"
# The largest size where none is given: TCP needs seconds for what a fabric of GPUs does in milliseconds.
LARGEST = {NCCL: 1 << 30, GLOO: 16 << 20}
ITEM_BYTES = {"float64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
# What torch and a communicator take beside the buffers, and the blocks in which results are checked.
OVERHEAD_BYTES = 1 << 30
IN_PLACE = ("all_reduce", "broadcast")
DIVIDED = ("all_gather", "reduce_scatter")
MIB = 1 << 20
# Beyond what a launch asks of the nodes (`node_facts`): how much fits into them, and the lanes of their GPUs.
SUBSETS = ("memory", "gpu_health")
ENDING = "choose a smaller one with -e max_bytes=SIZE"


def sizes_of(least: int, most: int, factor: int) -> list[int]:
    """Return the sizes in bytes from the least one on, as nccl-tests does: each is a multiple of the one before."""
    return list(itertools.takewhile(lambda size: size <= most, (least * factor**step for step in itertools.count())))


def with_program(request: Mapping[str, Any], nodes: Sequence[Node]) -> Mapping[str, Any]:
    """Return the request of a benchmark with its backend, its largest size and the arguments of its program."""
    if request["verb"] != VERB:
        return request
    settings = {**request["parameters"], "backend": backend_of(request["parameters"]["backend"], nodes)}
    values = setting_values(settings)
    if values["max_bytes"] is None:
        most = max(values["min_bytes"], LARGEST[values["backend"]])
        settings["max_bytes"] = {**settings["max_bytes"], "value": most}
    sizes = sizes_of(values["min_bytes"], settings["max_bytes"]["value"], values["factor"])
    options = {
        **{name: values[name] for name in ("collective", "scope", "backend", "dtype", "warmup", "iterations")},
        "check": int(values["check"]),
        "output": "{output_dir}",
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    settings["script_args"] = {"value": [*arguments, *map(str, sizes)], **DEFAULT.to_dict()}
    return {**request, "parameters": settings}


def backend_of(setting: Mapping[str, Any], nodes: Sequence[Node]) -> Mapping[str, Any]:
    """Return the backend: NCCL where it is not given and every node has GPUs."""
    has_gpus = bool(nodes) and all(node.gpu and node.gpu.count for node in nodes)
    return {**setting, "value": NCCL if has_gpus else GLOO} if setting["value"] == "auto" else setting


def check_gpus(backend: Mapping[str, Any], nodes: Sequence[Node], nproc: int) -> Iterator[Finding]:
    """Find nodes with fewer GPUs than ranks, which NCCL refuses."""
    for node in nodes if backend["value"] == NCCL else ():
        if node.gpu is not None and node.gpu.count < nproc:
            observed = f"{node.gpu.count} GPUs for {nproc} ranks"
            remedy = "give -e backend=gloo, or fewer ranks per node"
            yield Finding("backend", node.name, "fail", observed, "a GPU for each rank", backend["origin"], remedy)


def group_size(scope: str, nnodes: int, nproc: int) -> int:
    """Return how many ranks run the collective together."""
    return {"all": nnodes * nproc, "rails": nnodes, "nodes": nproc}[scope]


def check(request: Mapping[str, Any], nodes: Sequence[Node], nnodes: int, nproc: int) -> Iterator[Finding]:
    """Find what keeps a benchmark from running: a group of one rank, no GPU for NCCL, too little memory."""
    if request["verb"] != VERB:
        return
    settings = request["parameters"]
    values = setting_values(settings)
    ranks = group_size(values["scope"], nnodes, nproc)
    if ranks < 2:
        nodes_text, ranks_text = _count(nnodes, "node"), _count(nproc, "rank")
        observed = f"{values['scope']} makes groups of one rank on {nodes_text} with {ranks_text} per node"
        remedy = "choose another -e scope=, or more ranks with -e nproc=N or -e nnodes=N"
        expected = f"at least two ranks for {values['collective']}"
        yield Finding("scope", None, "fail", observed, expected, settings["scope"]["origin"], remedy)
    yield from check_gpus(settings["backend"], nodes, nproc)
    needed = needed_bytes(values, max(ranks, 1))
    for node in nodes:
        most = _memory(node, values["backend"], nproc)
        if most is not None and needed > most:
            what = "on a GPU" if values["backend"] == NCCL else f"of main memory for each of {nproc} ranks"
            size = size_text(values["max_bytes"])
            observed, expected = f"{most / MIB:,.0f} MiB {what}", f"{needed / MIB:,.0f} MiB for {size}"
            yield Finding("max_bytes", node.name, "fail", observed, expected, settings["max_bytes"]["origin"], ENDING)


def needed_bytes(values: Mapping[str, Any], ranks: int) -> int:
    """Return what one rank needs for the largest size."""
    size, collective = values["max_bytes"], values["collective"]
    parts = 1.0 if collective in IN_PLACE else 1 + 1 / ranks if collective in DIVIDED else 2.0
    return int(size * parts) + OVERHEAD_BYTES


def _memory(node: Node, backend: str, nproc: int) -> int | None:
    """Return how much memory one rank can have on a node, None where it is not known."""
    if backend == NCCL:
        known = [device.memory_mib for device in (node.gpu.devices if node.gpu else []) if device.memory_mib]
        return min(known) * MIB if known else None
    memory = node.facts.memory
    return None if memory is None or memory.available_bytes is None else memory.available_bytes // nproc


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
