# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks a node has: by the plan; without one, by the reports of the nodes, if no two report the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.document import MOST_NODES, as_integer
from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict
from ansible_collections.muster.train.plugins.module_utils._records.phases import SILENT
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord

from .._text.table import node_names
from .events import stand_in
from .infos import Info
from .verdict import has_runner

# The highest nproc that a launch takes: a node's number is not believed beyond it.
MOST_RANKS = 1024
_NONE_TAKEN = ", so no files of ranks are taken from there; collect from the controller that launched the run"


@frozen
class NodeRanks:
    """A node's part of a run of nnodes nodes with nproc ranks each; first_rank is None for a spare.

    replaces: the first ranks of the nodes that a spare can have replaced, None where the head does not say.
    """

    first_rank: int | None
    nproc: int
    nnodes: int
    replaces: tuple[int, ...] | None = None


def planned(plan: object) -> dict[str, NodeRanks] | None:
    """Return each node's part by the plan; None for anything that is not a plan: it may have come from a node."""
    document = as_dict(plan)
    nodes, spares, nproc = document.get("nodes"), document.get("spares", []), as_integer(document.get("nproc"))
    if not isinstance(nodes, list) or not isinstance(spares, list) or nproc is None or not 0 < nproc <= MOST_RANKS:
        return None
    if not nodes or len({*map(str, nodes), *map(str, spares)}) < len(nodes) + len(spares):
        return None
    parts = {str(node): NodeRanks(rank * nproc, nproc, len(nodes)) for rank, node in enumerate(nodes)}
    return parts | {str(node): NodeRanks(None, nproc, len(nodes)) for node in spares}


def confirm_spares(parts: Mapping[str, NodeRanks], head: RunRecord) -> dict[str, NodeRanks]:
    """Return the parts with what spares can have replaced, by the record of the head once the run has ended."""
    ranked = head.gang.phases if head.gang else {}
    if not ranked:
        return dict(parts)
    replaced_ranks = tuple(
        part.first_rank for node, part in parts.items() if part.first_rank is not None and node not in ranked
    )
    return {
        node: part if part.first_rank is not None else replace(part, replaces=replaced_ranks if node in ranked else ())
        for node, part in parts.items()
    }


def place_silent(
    runs: Sequence[RunRecord], parts: Mapping[str, NodeRanks], replaced: Mapping[str, str]
) -> list[RunRecord]:
    """Return the runs; a node that does not answer gets the ranks that the plan gives it, or a spare those it took."""
    planned_ranks = {stand_in(node, replaced): part for node, part in parts.items() if part.first_rank is not None}
    return [_placed(run, planned_ranks.get(str(run.node))) if run.phase in SILENT else run for run in runs]


def _placed(run: RunRecord, part: NodeRanks | None) -> RunRecord:
    if part is None or part.first_rank is None or run.nproc is not None:
        return run
    nproc, nnodes = part.nproc, part.nnodes
    ranks = {"node_rank": part.first_rank // nproc, "first_rank": part.first_rank}
    return RunRecord.from_dict(
        {**run.to_dict(), **ranks, "nproc": nproc, "nnodes": nnodes, "world_size": nproc * nnodes}
    )


def possible_heads(plan: object, group: Sequence[str], spares: Sequence[str]) -> list[str]:
    """Return the nodes of which one is a run's head: the plan's, else the group's first, or a spare in its place."""
    nodes = (*group, *spares)
    planned_heads = [node for node, part in (planned(plan) or {}).items() if part.first_rank == 0 and node in nodes]
    return planned_heads if spares and planned_heads else [*group[:1], *spares]


def head_candidates(infos: Sequence[Info], run_id: str, group: Sequence[str], spares: Sequence[str]) -> list[str]:
    """Return the nodes that say they are the head of a run, the newest launch first; only a spare can be another one.

    A node of the group that is not its first cannot be the head, whatever it says.
    """
    eligible = {*group[:1], *spares}
    heads = [info for info in infos if info.node in eligible and _is_of(info.run, run_id) and info.run.node_rank == 0]
    return [info.node for info in sorted(heads, key=lambda info: info.run.created or "", reverse=True)]


def claimed(infos: Sequence[Info], run_id: str, spares: Collection[str]) -> tuple[dict[str, NodeRanks], list[str]]:
    """Return (each node's part, what is refused) by what the nodes say of themselves."""
    answers = {info.node: info.run for info in infos if _is_of(info.run, run_id)}
    shapes = Counter((run.nonce, run.nproc or 0, run.nnodes or 0) for run in answers.values())
    nonce, nproc, nnodes = max(shapes, key=shapes.__getitem__, default=(None, 0, 0))
    if not (0 < nproc <= MOST_RANKS and 0 < nnodes <= MOST_NODES):
        return {}, []
    parts = dict.fromkeys(spares, NodeRanks(None, nproc, nnodes))
    claimants: dict[int, list[str]] = {}
    refused = []
    for node, run in answers.items():
        rank = run.node_rank
        if node in spares and rank != 0:
            continue
        shape = (run.nonce, run.nproc, run.nnodes, run.first_rank)
        if rank is None or not 0 <= rank < nnodes or shape != (nonce, nproc, nnodes, rank * nproc):
            parts.pop(node, None)
            refused.append(f"{node}: its launch, node rank or number of ranks differs from most nodes'{_NONE_TAKEN}")
        else:
            claimants.setdefault(rank, []).append(node)
    for rank, nodes in sorted(claimants.items()):
        if len(nodes) > 1:
            for node in nodes:
                parts.pop(node, None)
            refused.append(f"{node_names(nodes)} all say that they have node rank {rank} of {run_id}{_NONE_TAKEN}")
        else:
            parts[nodes[0]] = NodeRanks(rank * nproc, nproc, nnodes)
    return parts, refused


def ranks_of(part: Mapping[str, Any] | None, run: RunRecord, by_plan: bool = True) -> tuple[range, str | None]:
    """Return (the ranks whose files are taken from a node, what is refused of what the node says).

    A spare takes the ranks of one whole node that the head has replaced, so never the head's. Without a plan, `claimed`
    has already reported a node that has no part.
    """
    claim = range(0)
    if run.first_rank is not None and run.nproc is not None and 0 <= run.nproc <= MOST_RANKS:
        claim = range(run.first_rank, run.first_rank + run.nproc)
    ranks, replaces = range(0), part.get("replaces") if part else None
    if part:
        nproc, world_size = part["nproc"], part["nproc"] * part["nnodes"]
        if part["first_rank"] is not None:
            ranks = range(part["first_rank"], part["first_rank"] + nproc)
        elif claim.start >= world_size:
            return ranks, None  # an idle spare
        elif len(claim) == nproc and claim.start % nproc == 0 and claim.start >= nproc:
            ranks = claim if replaces is None or claim.start in replaces else ranks
    if not claim or claim == ranks or (not part and not by_plan):
        return ranks, None
    giver = "the plan" if replaces is None else "the head"
    why = f"{giver} gives it {_words(ranks) if ranks else 'none'}" if by_plan else "no plan confirms it"
    taken = f"only files of {_words(ranks)} are taken from it" if ranks else "no files of ranks are taken from it"
    return ranks, f"it claims {_words(claim)}, but {why}; {taken}"


def _words(ranks: range) -> str:
    return f"rank {ranks.start}" if len(ranks) == 1 else f"ranks {ranks.start} to {ranks.stop - 1}"


def _is_of(run: RunRecord, run_id: str) -> bool:
    return run.run_id == run_id and has_runner(run)
