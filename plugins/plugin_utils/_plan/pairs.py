# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks of `pairs` run: how many rounds tell a slow node from noise, and what they take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._cluster.node import Node
from .._findings.finding import Finding
from .._findings.origin import DEFAULT
from .benchmark import GLOO, NCCL, backend_of, check_gpus

VERB = "pairs"
BYTES = {NCCL: 256 << 20, GLOO: 4 << 20}
# A node counts as the value that a third of its measurements do not exceed (module_utils/runner/pairs/judgment.py), so
# noise has to slow more than two thirds of them. It may slow one in ten, and make suspects of so many healthy nodes.
NOISY, FALSE_SUSPECTS, FEWEST = 0.1, 0.05, 8
# Twice 0.5 s each of TCP's and torch's measurements, a process and a group; NCCL needs a context on the GPU besides.
ROUND_S = {GLOO: 3, NCCL: 6}
# Twelve in which groups of nodes that seem to be apart try to reach each other, and twelve for the suspects.
MOST_ROUNDS_AGAIN = 24


def measurements(nodes: int) -> int:
    """Return how often each of so many nodes has to be measured."""
    return next(count for count in itertools.count(FEWEST) if nodes * false_suspect(count) <= FALSE_SUSPECTS)


def false_suspect(count: int) -> float:
    """Return how likely noise slows too many of a healthy node's measurements."""
    least = count - (count - 1) // 3
    return sum(math.comb(count, slow) * NOISY**slow * (1 - NOISY) ** (count - slow) for slow in range(least, count + 1))


def rounds_of(nodes: int) -> int:
    """Return the rounds that measure each node so often; with an odd number of nodes, each round leaves one out."""
    count = measurements(nodes)
    return count if nodes % 2 == 0 else math.ceil(count * nodes / max(1, nodes - 1))


def with_program(request: Mapping[str, Any], nodes: Sequence[Node], active: int) -> Mapping[str, Any]:
    """Return the request of `pairs` with its backend, its rounds and the arguments of its program."""
    if request["verb"] != VERB:
        return request
    settings = {**request["parameters"], "backend": backend_of(request["parameters"]["backend"], nodes)}
    for name, value in (("rounds", rounds_of(active)), ("bytes", BYTES[settings["backend"]["value"]])):
        if settings[name]["value"] is None:
            settings[name] = {**settings[name], "value": value}
    options = {name: settings[name]["value"] for name in ("backend", "rounds", "bytes", "tolerance", "pair_limit")}
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    settings["script_args"] = {"value": [*arguments, "--output", "{output_dir}"], **DEFAULT.to_dict()}
    return {**request, "parameters": settings}


def check(request: Mapping[str, Any], nodes: Sequence[Node], nnodes: int, nproc: int) -> Iterator[Finding]:
    """Find what keeps pairs from being measured: a single node, no GPU for NCCL."""
    if request["verb"] != VERB:
        return
    if nnodes < 2:
        expected, remedy = "at least two nodes", "add nodes to the inventory, or give more with -e nnodes=N"
        yield Finding("nodes", None, "fail", "a single node makes no pair", expected, "inventory", remedy)
    yield from check_gpus(request["parameters"]["backend"], nodes, nproc)


def rows(plan: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what the plan of `pairs` shows of its rounds, as name, value and reason."""
    settings, nodes = plan["parameters"], plan["nnodes"]
    if "pair_limit" not in settings:
        return []
    rounds, limit_s = settings["rounds"]["value"], settings["pair_limit"]["value"]
    links = nodes * (nodes - 1) // 2
    times = rounds if nodes % 2 == 0 else rounds * (nodes - 1) // nodes
    measured = min(links, rounds * (nodes // 2))
    usual = _time(rounds * ROUND_S[settings["backend"]["value"]])
    longest = _time((rounds + MOST_ROUNDS_AGAIN) * limit_s)
    return [
        (
            "rounds",
            f"{rounds}, each of {nodes // 2:,} pair{'s' * (nodes > 3)}, then at most {MOST_ROUNDS_AGAIN} for suspects",
            f"each node is measured {times} times, and {measured:,} of {links:,} links",
        ),
        ("time", f"about {usual}, at most {longest}", f"a pair that hangs is given up after {limit_s} s"),
    ]


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds / 60:.0f} min"
