# SPDX-License-Identifier: GPL-3.0-or-later
"""On which node a rank of a run is, and where in it: by what the nodes report and by the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import as_integer, as_names, as_text
from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.job import container_name
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord

from .._findings.errors import UserError
from .._text.table import node_names
from .events import gang_of
from .ranks import place_silent, planned
from .verdict import is_idle_spare, may_have, members


@frozen
class RankPlace:
    """A node's part of a run; directory is where its ranks start, container the name of the one that they run in."""

    node: str
    phase: str | None = None
    directory: str | None = None
    container: str | None = None


def node_of(runs: Sequence[RunRecord], plan: Mapping[str, Any], rank: int) -> str:
    """Return the node that has a rank; raise UserError where none has it, or where this is not known."""
    replaced = {**as_names(as_dict(plan.get("replaced"))), **gang_of(members(runs)).replaced}
    placed = place_silent(runs, planned(plan) or {}, replaced)
    parts = members([run for run in placed if run.node not in replaced and not is_idle_spare(run)])
    nodes = [str(run.node) for run in parts if may_have(run, rank)]
    if len(nodes) == 1:
        return nodes[0]
    if not nodes:
        raise UserError(f"rank: no node of the run has rank {rank}; `status` shows the ranks of each node")
    raise UserError(f"rank: it is not known which of {node_names(nodes)} has rank {rank}; give -e node=NAME")


def place_of(node: str, run_id: str, runs: Sequence[RunRecord], plan: Mapping[str, Any]) -> RankPlace:
    """Return what is known of a node's part of a run; a container ends with its run."""
    phase = next((run.phase for run in runs if run.node == node), None)
    job = as_dict(as_dict(plan.get("jobs")).get(node))
    number = as_integer(job.get("node_rank"))
    is_inside = job.get("container") is not None and number is not None and phase not in ENDED
    return RankPlace(
        node=node,
        phase=phase,
        directory=as_text(job.get("cwd")),
        container=container_name(run_id, number) if is_inside and number is not None else None,
    )
