# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong in the logs of NCCL, and the verdict on each."""

from __future__ import annotations

import dataclasses

from ansible_collections.muster.train.plugins.module_utils._records.nccl_log import NcclLog
from ansible_collections.muster.train.plugins.module_utils._records.nccl_verdict import (
    NcclExpectation,
    NcclVerdict,
    judge,
)
from ansible_collections.muster.train.tests.support.nccl_logs import (
    CALL,
    COMPLETION,
    FAILED,
    GDR,
    GOOD,
    HCAS,
    INSIDE,
    NO_GDR,
    RING,
    SIZE,
    SOCKET,
    choice,
    edges,
    elsewhere,
    grid,
    log_of,
    plugin,
    provided,
    says,
    warned,
    ways,
)

CHOICES = choice(0), choice(1)
SOCKETS = choice(0, "Socket"), choice(1, "Socket")
RDMA = NcclExpectation("rdma", gdr=True, hcas=["mlx5_0", "mlx5_1"], ranks=[0, 1])
TCP = NcclExpectation("tcp", ranks=[0, 1])
ANY = NcclExpectation()
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
    "Socket was chosen, nothing is connected": (RDMA, log_of(*SOCKETS), "fail", "nccl transport"),
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
    "sends without GPUDirect, receives with it": (RDMA, log_of(*CHOICES, *ways(NO_GDR, GDR)), "pass", None),
    "the same, and rings that count the sends": (
        RDMA,
        log_of(*CHOICES, *ways(NO_GDR, GDR), [SIZE.format(2, 0), RING.format(0)]),
        "pass",
        None,
    ),
    "sends with GPUDirect, receives without it": (RDMA, log_of(*CHOICES, *ways(GDR, NO_GDR)), "fail", "nccl gdr"),
    "sends alone, which a variable keeps off GPUDirect": (
        RDMA,
        log_of(
            *CHOICES,
            *(says(rank, "NCCL_NET_GDR_READ set by environment to 0.") + edges(rank, NO_GDR) for rank in range(2)),
        ),
        "unknown",
        "nccl gdr",
    ),
    "one channel leaves the node, others stay inside": (
        RDMA,
        log_of(*CHOICES, edges(0, GDR, 1), edges(0, "P2P/CUMEM", 16), edges(1, GDR, 1), edges(1, "P2P/CUMEM", 16)),
        "pass",
        None,
    ),
    "one of two ranks has connections to the other node": (
        RDMA,
        log_of(*CHOICES, edges(0, "NET/IB/0/GDRDMA"), edges(1, "P2P/CUMEM")),
        "pass",
        None,
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
        log_of(choice(0), [SIZE.format(2, 0), RING.format(1)]),
        "pass",
        None,
    ),
    "rings without GPUDirect": (
        NcclExpectation("rdma", gdr=True),
        log_of(choice(0), [SIZE.format(2, 0), RING.format(0)]),
        "fail",
        "nccl gdr",
    ),
    "rings of one node": (
        NcclExpectation("rdma", gdr=True, ranks=[0, 1, 2, 3]),
        log_of(*(choice(rank) for rank in range(4)), [RING.format(1)]),
        "unknown",
        "nccl edges",
    ),
    "rings of one node, of whose ranks one has a log": (
        NcclExpectation("rdma", gdr=True),
        log_of(choice(0), [SIZE.format(1, 0), RING.format(1)]),
        "unknown",
        "nccl edges",
    ),
    "rings of ranks whose nodes are not counted": (
        NcclExpectation("rdma", gdr=True),
        log_of(choice(0), [RING.format(1)]),
        "unknown",
        "nccl edges",
    ),
    "rings over the NVLink of two nodes": (
        NcclExpectation("rdma", gdr=True),
        log_of(choice(0), [SIZE.format(2, 1), RING.format(1)]),
        "unknown",
        "nccl edges",
    ),
    "rings over Socket": (
        NcclExpectation("rdma"),
        log_of(choice(0, "Socket"), [SIZE.format(2, 0), RING.format(1)]),
        "fail",
        "nccl transport",
    ),
    "GPUDirect alone expected, on Socket": (
        NcclExpectation(gdr=True),
        log_of(choice(0, "Socket"), edges(0, SOCKET)),
        "fail",
        "nccl transport",
    ),
    "HCAs alone expected, on Socket": (
        NcclExpectation(hcas=["mlx5_0"]),
        log_of(choice(0, "Socket"), edges(0, SOCKET)),
        "fail",
        "nccl transport",
    ),
    "TCP with GPUDirect expected, without it": (
        NcclExpectation("tcp", gdr=True),
        log_of(choice(0, "Socket"), edges(0, SOCKET)),
        "fail",
        "nccl gdr",
    ),
    "TCPX with GPUDirect": (NcclExpectation("rdma"), plugin("GPUDirectTCPX_v7"), "fail", "nccl transport"),
    "Socket with GPUDirect": (NcclExpectation("rdma"), plugin("Socket"), "fail", "nccl transport"),
    "an unknown plugin with GPUDirect": (NcclExpectation("rdma"), plugin("Mesh"), "unknown", "nccl transport"),
    "libfabric over TCP": (NcclExpectation("rdma"), provided("tcp;ofi_rxm"), "fail", "nccl transport"),
    "libfabric over verbs": (NcclExpectation("rdma", gdr=True), provided("verbs;ofi_rxm"), "pass", None),
    "a node without a connection to another": (
        NcclExpectation("rdma"),
        log_of(*GOOD, elsewhere(*INSIDE)),
        "unknown",
        "nccl edges",
    ),
    "no line names an HCA": (
        NcclExpectation("rdma", gdr=True, hcas=["mlx5_0", "mlx5_1"]),
        log_of(["n0:100:200 [0] NCCL INFO Using network IB"], [SIZE.format(2, 0), RING.format(1)]),
        "unknown",
        "nccl nics",
    ),
    "paths that could not be read": (RDMA, dataclasses.replace(log_of(*GOOD), unread=2), "unknown", "nccl log"),
    "nothing could be read": (RDMA, dataclasses.replace(log_of(), unread=1), "unknown", "nccl log"),
    "two communicators of one size": (NcclExpectation("rdma", gdr=True), log_of(grid(1)), "pass", None),
    "a port that went down": (
        RDMA,
        warned("NET/IB : mlx5_0:1 Got async error event: port error"),
        "fail",
        "nccl errors",
    ),
    "a device that failed": (
        RDMA,
        warned("NET/IB : mlx5_0:1 async fatal event on QP (0x7f00): local catastrophic error"),
        "fail",
        "nccl errors",
    ),
    "a port that came back": (
        RDMA,
        warned("NET/IB : mlx5_0:1 Got async error event: port active"),
        "pass",
        "nccl errors",
    ),
    "a warning": (RDMA, warned("Could not get speed from /sys/class/net/eth0/speed"), "pass", "nccl errors"),
    "a call without a number": (RDMA, warned("Call to ibv_create_qp failed"), "fail", "nccl errors"),
    "a completion without a number": (
        RDMA,
        warned("NET/IB : Got completion from peer 10.0.0.2<4>"),
        "fail",
        "nccl errors",
    ),
    "a call with a text": (RDMA, warned("Call to ibv_reg_mr failed with error Bad address"), "fail", "nccl errors"),
    "a peer that is not there": (
        RDMA,
        warned("Call to connect to 10.1.2.3<1> returned Connection refused, retrying"),
        "pass",
        "nccl errors",
    ),
    "a connection that was reset": (
        RDMA,
        warned("Call to ibv_modify_qp failed with 104 Connection reset by peer"),
        "fail",
        "nccl errors",
    ),
    "no space for shared memory": (
        RDMA,
        warned("Call to posix_fallocate failed : No space left on device"),
        "pass",
        "nccl errors",
    ),
}


def verdict_of(name: str) -> NcclVerdict:
    expected, log, _verdict, _check = CASES[name]
    return judge(log, expected)
