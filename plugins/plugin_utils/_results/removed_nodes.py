# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a run that are not in the inventory any more: known by the run's head, or by its plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.gang import NodeStatus
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord

from .._findings.finding import Finding
from .by_head import place, speak
from .infos import Info
from .ranks import NodeRanks, place_silent
from .verdict import is_idle_spare

NOT_HERE = "not in this inventory"
FINDING = Finding(
    "answer",
    None,
    "error",
    f"it is {NOT_HERE}",
    "a node of the inventory",
    "the run's plan",
    "give the inventory that the run was launched with (-i), or add the node to this one",
)


def add_removed_nodes(
    infos: Sequence[Info], inventory: Collection[str], parts: Mapping[str, NodeRanks], replaced: Mapping[str, str]
) -> list[Info]:
    """Return the answers with those of the run's other nodes in their places; none for a node whose ranks a spare took.

    parts are the planned parts, replaced has the spare that took each node's ranks.
    """
    known = {*inventory, *replaced}
    head = next((info for info in infos if info.run.node_rank == 0), None)
    statuses = {str(status.node): status for status in (head.nodes if head else [])}
    added = [
        _info(node, head.run if head else None, statuses.get(node), parts)
        for node in dict.fromkeys([*statuses, *parts])
        if node not in known
    ]
    rows = list(infos)
    for info in sorted(added, key=lambda info: info.run.node_rank or 0):
        if info.run.node_rank is not None and not is_idle_spare(info.run):
            rows.insert(info.run.node_rank, info)
    return rows


def _info(node: str, head: RunRecord | None, status: NodeStatus | None, parts: Mapping[str, NodeRanks]) -> Info:
    """Return a node as the head knows it: by all that it has heard, or by how the node's part ended."""
    if head is not None and status is not None and (run := speak(head, status)) is not None:
        return Info(node, run)
    (run,) = place_silent([RunRecord(node=node, phase="unknown", likeness=int(Likeness.SILENT))], parts, {})
    if head is not None and status is not None:
        run = place(run, head, status)
    phase = head.gang.phases.get(node) if head is not None and head.gang else None
    phase, why = (phase, None) if phase in ENDED else (run.phase, NOT_HERE)
    run = dataclasses.replace(run, phase=phase, why=why)
    return Info(node, run, answered=False, finding=dataclasses.replace(FINDING, node=node))
