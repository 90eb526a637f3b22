# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a run's outputs go: below the run directory of each node, or in one directory that all nodes share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._cluster.node import Node
from .._cluster.policy import SHARED_OUTPUT_DIR
from .._findings.finding import Finding


def output_dir(shared: str, facts: NodeFacts, run_dir: str, run_id: str) -> str:
    """Return the node's directory of outputs; a shared one is at the path that the node resolved."""
    if not shared:
        return f"{run_dir}/outputs"
    place = (facts.files or {}).get(shared)
    return f"{place.path if place else shared}/{run_id}"


def check(shared: str, nodes: Iterable[Node]) -> Iterator[Finding]:
    """Find nodes without the shared directory: one that a launch made would be a node's own."""
    for node in nodes if shared else ():
        place = (node.facts.files or {}).get(shared)
        if place is not None and place.exists and not place.readable:
            continue
        observed = f"{place.path if place else shared} {'is a file' if place and place.exists else 'does not exist'}"
        expected, name = "a directory that all nodes share", SHARED_OUTPUT_DIR.name
        yield Finding("outputs", node.name, "fail", observed, expected, name, f"mount it there, or correct {name}")
