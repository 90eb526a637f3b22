# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of NCCL of two nodes with two ranks each, and what goes wrong in them."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._nccl_log.parse import NcclLogParser
from ansible_collections.muster.train.plugins.module_utils._records.nccl_log import NcclLog
from ansible_collections.muster.train.plugins.module_utils._records.nccl_verdict import (
    NcclExpectation,
    NcclVerdict,
    judge,
)

RDMA = NcclExpectation("rdma", gdr=True, hcas=["mlx5_0", "mlx5_1"], ranks=[0, 1])
TCP = NcclExpectation("tcp", ranks=[0, 1])
ANY = NcclExpectation()
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


def edges(rank: int, way: str, channels: int = 2) -> list[str]:
    """Its connections to the other node, over one NIC for each channel: {} in the way."""
    head = f"n0:{100 + rank}:{200 + rank} [{rank}] NCCL INFO Channel"
    return [
        f"{head} {channel:02d}/0 : {rank}[{rank}] -> {2 + rank}[{rank}] [send] via {way.format(channel)}"
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
RINGS = ["n0:100:200 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR {}"]
# For each what was expected, the log, the verdict, and the failed check.
CASES: dict[str, tuple[NcclExpectation, NcclLog, str, str | None]] = {
    "as planned": (RDMA, log_of(*GOOD), "pass", None),
    "nothing expected": (ANY, log_of(*GOOD), "pass", None),
    "TCP as planned": (
        TCP,
        log_of(choice(0, "Socket"), choice(1, "Socket"), edges(0, SOCKET)),
        "unknown",
        "nccl edges",
    ),
    "TCP on both": (
        TCP,
        log_of(choice(0, "Socket"), choice(1, "Socket"), edges(0, SOCKET), edges(1, SOCKET)),
        "pass",
        None,
    ),
    "RDMA where TCP was planned": (TCP, log_of(*GOOD), "fail", "nccl transport"),
    "all on Socket": (
        RDMA,
        log_of(choice(0, "Socket"), choice(1, "Socket"), edges(0, SOCKET), edges(1, SOCKET)),
        "fail",
        "nccl transport",
    ),
    "Socket was chosen, nothing is connected": (
        RDMA,
        log_of(choice(0, "Socket"), choice(1, "Socket")),
        "fail",
        "nccl transport",
    ),
    "one rank on Socket": (
        RDMA,
        log_of(choice(0), choice(1, "Socket"), edges(0, GDR), edges(1, SOCKET)),
        "fail",
        "nccl transport",
    ),
    "one rank on Socket, nothing expected": (
        ANY,
        log_of(choice(0), choice(1, "Socket"), edges(0, GDR), edges(1, SOCKET)),
        "fail",
        "nccl transport",
    ),
    "no GPUDirect": (RDMA, log_of(choice(0), choice(1), edges(0, NO_GDR), edges(1, NO_GDR)), "fail", "nccl gdr"),
    "no GPUDirect, with the reason": (
        RDMA,
        log_of(
            choice(0),
            choice(1),
            ["n0:100:200 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 0 / HCA 0 (distance 5 > 4)"],
            edges(0, NO_GDR),
            edges(1, GDR),
        ),
        "fail",
        "nccl gdr",
    ),
    "GPUDirect on one of two ranks, not expected": (
        NcclExpectation("rdma"),
        log_of(choice(0), choice(1), edges(0, NO_GDR), edges(1, GDR)),
        "pass",
        "nccl gdr",
    ),
    "a choice without a connection": (RDMA, log_of(choice(0), choice(1)), "unknown", "nccl edges"),
    "connections inside the node alone": (
        RDMA,
        log_of(choice(0), choice(1), edges(0, "P2P/CUMEM"), edges(1, "P2P/CUMEM")),
        "unknown",
        "nccl edges",
    ),
    "half of the HCAs opened": (
        RDMA,
        log_of(choice(0, hcas=HCAS[:1]), choice(1, hcas=HCAS[:1]), edges(0, "NET/IB/0/GDRDMA"), edges(1, GDR)),
        "fail",
        "nccl nics",
    ),
    "half of the HCAs used": (
        RDMA,
        log_of(choice(0), choice(1), edges(0, "NET/IB/0/GDRDMA"), edges(1, "NET/IB/0/GDRDMA")),
        "fail",
        "nccl nics",
    ),
    "InfiniBand and Ethernet": (
        NcclExpectation("rdma"),
        log_of(choice(0, hcas=("mlx5_0:1/IB", "bond0:1/RoCE")), choice(1), edges(0, GDR), edges(1, GDR)),
        "fail",
        "nccl link layers",
    ),
    "a rank without a log": (RDMA, log_of(choice(0), edges(0, GDR)), "unknown", "nccl ranks"),
    "no log": (RDMA, log_of(["step 1 loss 2.0"]), "unknown", "nccl log"),
    "a network of an unknown plugin": (
        NcclExpectation("rdma"),
        log_of(choice(0, "Mesh"), choice(1, "Mesh"), edges(0, "NET/Mesh/{}"), edges(1, "NET/Mesh/{}")),
        "unknown",
        "nccl transport",
    ),
    "a completion that failed": (RDMA, log_of(*GOOD, [FAILED + COMPLETION.format(12)]), "fail", "nccl errors"),
    "a completion that was flushed": (RDMA, log_of(*GOOD, [FAILED + COMPLETION.format(5)]), "pass", "nccl errors"),
    "a call that failed": (RDMA, log_of(*GOOD, [FAILED + CALL]), "fail", "nccl errors"),
    "rings with GPUDirect": (
        NcclExpectation("rdma", gdr=True),
        log_of(choice(0), [line.format(1) for line in RINGS]),
        "pass",
        None,
    ),
    "rings without GPUDirect": (
        NcclExpectation("rdma", gdr=True),
        log_of(choice(0), [line.format(0) for line in RINGS]),
        "fail",
        "nccl gdr",
    ),
    "rings of one node": (
        NcclExpectation("rdma", gdr=True, ranks=[0, 1, 2, 3]),
        log_of(*(choice(rank) for rank in range(4)), [line.format(1) for line in RINGS]),
        "unknown",
        "nccl edges",
    ),
}


def verdict_of(name: str) -> NcclVerdict:
    expected, log, _verdict, _check = CASES[name]
    return judge(log, expected)
