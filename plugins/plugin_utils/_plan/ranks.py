# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks: which node starts how many, and which numbers they get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._cluster.peers import Usual, usual
from .._findings.finding import Finding


@dataclass(frozen=True)
class Place:
    """One node's ranks: first_rank … first_rank + nproc - 1 of the run."""

    node: str
    node_rank: int
    first_rank: int
    nproc: int


@dataclass(frozen=True)
class Count:
    """How many ranks every node starts, and why."""

    nproc: int
    reason: str


def place(nodes: Sequence[str], nproc: int) -> list[Place]:
    """Give out the ranks: node rank is the position, ranks are contiguous per node."""
    return [Place(node, position, position * nproc, nproc) for position, node in enumerate(nodes)]


def count(asked: int | None, origin: str, gpus: Mapping[str, int | None]) -> tuple[Count, list[Finding]]:
    """Decide how many ranks every node starts.

    asked and origin are the parameter nproc, gpus is the number of GPUs by node (None: not known). Without a wish there
    is one rank per GPU, one on a node without GPUs. torchrun could take another number on each node, but a count that
    differs is almost always a lost GPU: that is said, never worked around.
    """
    if asked is not None:
        return Count(asked, origin), [
            _more_than_gpus(node, asked, origin, found) for node, found in gpus.items() if found and found < asked
        ]
    unknown = [_unknown(node) for node, found in gpus.items() if found is None]
    peers = usual({node: max(1, found) for node, found in gpus.items() if found is not None})
    if unknown or peers is None:
        return Count(1, "the number of GPUs is not known"), unknown
    findings = [_differs(node, gpus[node] or 0, peers) for node in peers.odd]
    return Count(peers.value, "one per GPU" if any(gpus.values()) else "no GPU: one rank per node"), findings


def _more_than_gpus(node: str, asked: int, origin: str, found: int) -> Finding:
    return Finding(
        "nproc",
        node,
        "warn",
        f"{asked} ranks on {found} GPUs",
        f"at most {found} ranks",
        origin,
        f"use -e nproc={found} unless the ranks are meant to share GPUs",
    )


def _unknown(node: str) -> Finding:
    return Finding(
        "nproc",
        node,
        "error",
        "the number of GPUs could not be read",
        "a number, as nproc is not set",
        "facts gpu",
        "set the number of ranks per node with -e nproc=N",
    )


def _differs(node: str, found: int, peers: Usual[int]) -> Finding:
    return Finding(
        "nproc",
        node,
        "fail",
        f"{found} GPUs",
        f"one number of ranks on all nodes, {peers.value} {peers.source}",
        "one rank per GPU, as nproc is not set",
        "set a number that every node can hold with -e nproc=N, or take the node out of the group nodes",
    )
