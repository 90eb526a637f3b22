# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of NCCL of two nodes with two ranks each, line by line."""

from __future__ import annotations

import re

from ansible_collections.muster.train.plugins.module_utils._nccl_log.parse import NcclLogParser
from ansible_collections.muster.train.plugins.module_utils._records.nccl_log import NcclLog

HCAS = ("mlx5_0:1/IB", "mlx5_1:1/IB")


def choice(rank: int, network: str = "IB", hcas: tuple[str, ...] = HCAS) -> list[str]:
    """What a rank of the first node logs before it is connected."""
    opened = " ".join(f"[{number}]{hca}" for number, hca in enumerate(hcas))
    network_lines = {
        "IB": [f"NET/IB : Using {opened} [RO]; OOB eth0:10.0.0.1<0>"],
        "Socket": ["NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.0.0.1<0>"],
    }
    return [
        f"n0:{100 + rank}:{200 + rank} [{rank}] NCCL INFO {message}"
        for message in (
            *network_lines.get(network, []),
            f"Using network {network}",
            f"comm 0x1 rank {rank} nranks 4 cudaDev {rank} busId {rank}b000 - Init COMPLETE",
        )
    ]


def edges(rank: int, way: str, channels: int = 2, direction: str = "send") -> list[str]:
    """Its connections to the other node, over one NIC for each channel: {} in the way."""
    ends = (rank, 2 + rank) if direction == "send" else (2 + rank, rank)
    head = f"n0:{100 + rank}:{200 + rank} [{rank}] NCCL INFO Channel"
    return [
        f"{head} {channel:02d}/0 : {ends[0]}[{rank}] -> {ends[1]}[{rank}] [{direction}] via {way.format(channel)}"
        for channel in range(channels)
    ]


def log_of(*parts: list[str]) -> NcclLog:
    parser = NcclLogParser()
    for part in parts:
        parser.feed("".join(f"{line}\n" for line in part).encode())
    parser.end_file()
    return parser.record()


GDR, NO_GDR, SOCKET = "NET/IB/{}/GDRDMA", "NET/IB/{}", "NET/Socket/{}"
GOOD = (choice(0), choice(1), edges(0, GDR), edges(1, GDR))
FAILED = "n0:100:300 [0] transport/net_ib.cc:1296 NCCL WARN "
COMPLETION = "NET/IB : Got completion from peer 10.0.0.2<4> with error {}, opcode 0, len 0, vendor err 129 (Recv)"
CALL = "Call to ibv_modify_qp failed with 22 Invalid argument, on dev mlx5_1:1, curr state INIT, local GID index 3"
SIZE = "n0:100:200 [0] NCCL INFO comm 0x1 rank 0 nRanks 4 nNodes {} localRanks 2 localRank 0 MNNVL {}"
RING = "n0:100:200 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR {}"
INSIDE = (choice(0), choice(1), edges(0, "P2P/CUMEM"), edges(1, "P2P/CUMEM"))


def ways(sent: str, received: str) -> list[list[str]]:
    """The connections of both ranks in both directions."""
    return [edges(rank, sent) + edges(rank, received, direction="receive") for rank in range(2)]


def says(rank: int, *messages: str) -> list[str]:
    """Other lines of a rank."""
    return [f"n0:{100 + rank}:{200 + rank} [{rank}] NCCL INFO {message}" for message in messages]


def elsewhere(*parts: list[str]) -> list[str]:
    """The same lines of another node, whose ranks are 2 and 3."""
    return [
        re.sub(r"\brank (\d)", lambda match: f"rank {int(match[1]) + 2}", line.replace("n0:", "n1:", 1))
        for part in parts
        for line in part
    ]


def grid(node: int) -> list[str]:
    """Two communicators of two ranks each: inside the node, and with the same GPU of the other one."""
    return [
        f"n{node}:{100 + gpu}:{200 + gpu} [{gpu}] NCCL INFO {message}"
        for gpu in range(2)
        for message in (
            "Using network IB",
            f"comm 0x1 rank {gpu} nRanks 2 nNodes 1 localRanks 2 localRank {gpu} MNNVL 0",
            f"Channel 00/0 : {gpu}[{gpu}] -> {1 - gpu}[{1 - gpu}] via P2P/CUMEM",
            f"comm 0x2 rank {node} nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
            f"Channel 00/0 : {node}[{gpu}] -> {1 - node}[{gpu}] [send] via NET/IB/{gpu}/GDRDMA",
        )
    ]


def plugin(network: str) -> NcclLog:
    """Ranks with GPUDirect over the network of a plugin."""
    way = f"NET/{network}/{{}}/GDRDMA"
    return log_of(choice(0, network), choice(1, network), edges(0, way), edges(1, way))


def provided(provider: str) -> NcclLog:
    line = f"n0:10{{0}}:20{{0}} [{{0}}] NCCL INFO NET/OFI Selected Provider is {provider} (found 2 nics)"
    way = "NET/AWS Libfabric/{}/GDRDMA"
    return log_of([line.format(rank) for rank in range(2)], edges(0, way), edges(1, way))


def warned(message: str) -> NcclLog:
    return log_of(*GOOD, [FAILED + message])
