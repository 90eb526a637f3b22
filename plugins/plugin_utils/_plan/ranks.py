# SPDX-License-Identifier: GPL-3.0-or-later
"""How many ranks every node starts."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._cluster.peers import Usual, usual
from .._findings.finding import Finding


@frozen
class Count:
    """How many ranks every node starts, and why."""

    nproc: int
    reason: str


def count(nproc: int | None, origin: str, gpus: Mapping[str, int | None]) -> tuple[Count, list[Finding]]:
    """Decide how many ranks every node starts.

    nproc and origin are the parameter, gpus is the number of GPUs by node (None is unknown). By default it is one rank
    per GPU, and one on a node without GPUs. torchrun could start another number on each node, but a different count is
    almost always a lost GPU, and is reported.
    """
    if nproc is not None:
        few = {node: number for node, number in gpus.items() if number and number < nproc}
        return Count(nproc, origin), [_more_than_gpus(node, nproc, origin, number) for node, number in few.items()]
    unknown = [_unknown(node) for node, number in gpus.items() if number is None]
    peers = usual({node: max(1, number) for node, number in gpus.items() if number is not None})
    if unknown or peers is None:
        return Count(1, "the number of GPUs is unknown"), unknown
    findings = [_differs(node, gpus[node] or 0, peers) for node in peers.odd]
    return Count(peers.value, "one per GPU" if any(gpus.values()) else "no GPU: one rank per node"), findings


def _more_than_gpus(node: str, nproc: int, origin: str, gpus: int) -> Finding:
    remedy = f"use -e nproc={gpus} unless the ranks are meant to share GPUs"
    observed, expected = f"{nproc} ranks on {gpus} GPUs", f"at most {gpus} ranks"
    return Finding("nproc", node, "warn", observed, expected, origin, remedy)


def _unknown(node: str) -> Finding:
    observed = "the number of GPUs could not be read"
    remedy = "set the number of ranks per node with -e nproc=N"
    return Finding("nproc", node, "error", observed, "a number, as nproc is not set", "facts gpu", remedy)


def _differs(node: str, gpus: int, peers: Usual[int]) -> Finding:
    expected = f"one number of ranks on all nodes, {peers.value} {peers.source}"
    remedy = "set a number that every node can hold with -e nproc=N, or take the node out of the group nodes"
    return Finding("nproc", node, "fail", f"{gpus} GPUs", expected, "one rank per GPU, as nproc is not set", remedy)
