# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules D5 to D7: what is left to NCCL, and why."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gdr

from .hcas import Choice
from .library import Library
from .view import NodeView, NotSet

# NCCL_IB_TIMEOUT's default by the version that brought it (net_ib/connect.cc); 4.096 us * 2^n, seven times.
TIMEOUTS = (((2, 23), 20, "30 s"), ((2, 14), 18, "7.5 s"), ((0,), 14, "0.5 s"))


def left_to_nccl(node: NodeView, choice: Choice) -> list[NotSet]:
    """Return what NCCL finds out better by itself."""
    left = []
    if choice.ports:
        number, seconds = _timeout(node.library)
        left += [
            NotSet("NCCL_NET_GDR_LEVEL", "D5", gdr_reason(node)),
            NotSet(
                "NCCL_IB_TIMEOUT",
                "D7",
                f"the default {number} waits about {seconds}, enough but for very large fabrics",
            ),
        ]
    if len(choice.hcas) > 1:
        reason = "the default 2 keeps to one rail where that is as fast; 0 only for rails that do not reach each other"
        left.append(NotSet("NCCL_CROSS_NIC", "D7", reason))
    if node.gpu is None or node.gpu.count > 1:
        word = "NVL removes P2P over PCIe" if node.library.name == "nccl" else "RCCL's word is XGMI, not NVL"
        left.append(NotSet("NCCL_P2P_LEVEL", "D5", f"NCCL reads the topology itself; {word}"))
    tuned = "NCCL tunes it by message size and topology; a value forbids the others"
    channels = "NCCL tunes it; -e channels=N sets both"
    return [
        *left,
        NotSet("NCCL_ALGO", "D6", tuned),
        NotSet("NCCL_PROTO", "D6", tuned),
        NotSet("NCCL_MIN_NCHANNELS", "D6", channels),
        NotSet("NCCL_MAX_NCHANNELS", "D6", channels),
    ]


def gdr_reason(node: NodeView) -> str:
    """Say what is known of GPUDirect RDMA: the level is a distance, not a switch that turns it on."""
    return (
        f"a distance, not a switch: 5 means SYS; {_gdr(node.rdma.gdr) if node.rdma else 'GPUDirect RDMA is not known'}"
    )


def _gdr(gdr: Gdr) -> str:
    if gdr.loaded is None:
        return "GPUDirect RDMA is not known"
    if gdr.loaded:
        return f"GPUDirect RDMA by {', '.join(gdr.loaded)}"
    word = {None: "only the driver can tell", True: "there", False: "not there"}[gdr.dmabuf]
    return f"no peer memory module is loaded, DMA-BUF: {word}"


def _timeout(library: Library) -> tuple[int, str]:
    version = library.version or TIMEOUTS[0][0]
    return next((number, seconds) for since, number, seconds in TIMEOUTS if version >= since)
