# SPDX-License-Identifier: GPL-3.0-or-later
"""What the log of a rank shows of the fabric: its connections to other nodes, else its rings, else what it chose."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .frozen import frozen
from .nccl_log import NcclLog, RankLog


@frozen
class Proof:
    """What a rank shows of a network; fabric is None where its plugin hides it. is_choice: nothing is connected.

    receives: some of its connections are not known to be those of a sender.
    """

    rank: RankLog
    network: str
    fabric: str | None
    gdr: bool | None
    is_choice: bool
    line: str
    receives: bool = False


def proofs_of(rank: RankLog) -> list[Proof]:
    """Return the networks of a rank's connections to other nodes, else of its rings, else the one it chose."""
    if rank.outside:
        return [
            Proof(
                rank,
                edges.network,
                rank.fabric_of(edges.network),
                edges.gdr,
                False,
                edges.line,
                edges.count > edges.sent,
            )
            for edges in rank.outside
        ]
    # NCCL asks for an HCA before it falls back to Socket, which is the last network.
    network = rank.network or ("Socket" if rank.opened is False else None)
    if network is None:
        return []
    # Rings inside a node have GDR 1 as well.
    if rank.ring_gdr is not None and not rank.ambiguous and (rank.nnodes or 0) > 1:
        return [Proof(rank, network, rank.fabric_of(network), rank.ring_gdr, False, rank.ring_line or "")]
    return [Proof(rank, network, rank.fabric_of(network), None, True, rank.choice_line or "")]


def hosts_of(log: NcclLog) -> dict[str | None, list[RankLog]]:
    """Return the ranks by their hosts."""
    hosts: dict[str | None, list[RankLog]] = {}
    for rank in log.ranks:
        hosts.setdefault(rank.host, []).append(rank)
    return hosts


def deciding(proofs: Sequence[Proof]) -> list[Proof]:
    """Return those that tell whether a node has GPUDirect RDMA: its receives, and without any its sends and rings.

    NCCL sends without it where NCCL_NET_GDR_READ is 0, on older GPUs by default (graph/paths.cc, ncclTopoCheckGdr), and
    its line of the rings counts sends, too.
    """
    hosts = {item.rank.host for item in proofs if item.receives}
    return [
        item
        for item in proofs
        if (item.receives if item.rank.host in hosts else item.gdr or item.rank.env.get("NCCL_NET_GDR_READ") != "0")
    ]


def used_nics(ranks: Collection[RankLog]) -> set[tuple[str, int]]:
    """Return the network devices, by network and number, of connections to other nodes."""
    return {(edges.network, nic) for rank in ranks for edges in rank.outside for nic in edges.nics}
