# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules D5 to D7: the variables left at the library's defaults, and why."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma

from .hcas import HcaChoice
from .view import NodeView, NotSet

# NCCL_IB_TIMEOUT's default by the version that introduced it (net_ib/connect.cc); 4.096 us * 2^n, seven times.
TIMEOUTS = (((2, 23), 20, "30 s"), ((2, 14), 18, "7.5 s"), ((0,), 14, "0.5 s"))


def kept_defaults(node: NodeView, choice: HcaChoice) -> list[NotSet]:
    """Return what NCCL determines better on its own."""
    kept = []
    if choice.ports:
        version = node.library.version or TIMEOUTS[0][0]
        number, seconds = next((number, seconds) for since, number, seconds in TIMEOUTS if version >= since)
        timeout = f"the default {number} waits about {seconds}, enough except for very large fabrics"
        # The level is a distance, not a switch that turns GPUDirect RDMA on.
        kept.append(NotSet("NCCL_NET_GDR_LEVEL", "D5", f"a distance, not a switch: 5 means SYS; {_gdr(node.rdma)}"))
        kept.append(NotSet("NCCL_IB_TIMEOUT", "D7", timeout))
    if len(choice.hcas) > 1:
        reason = "the default 2 stays on one rail if that is as fast; 0 only for rails that cannot reach each other"
        kept.append(NotSet("NCCL_CROSS_NIC", "D7", reason))
    if node.gpu is None or node.gpu.count > 1:
        word = "NVL disables P2P over PCIe" if node.library.name == "nccl" else "RCCL uses XGMI instead of NVL"
        kept.append(NotSet("NCCL_P2P_LEVEL", "D5", f"NCCL reads the topology itself; {word}"))
    tuned = "NCCL tunes it by message size and topology; a value disables the others"
    channels = "NCCL tunes it; -e channels=N sets both"
    kept += [NotSet(name, "D6", tuned) for name in ("NCCL_ALGO", "NCCL_PROTO")]
    return kept + [NotSet(name, "D6", channels) for name in ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS")]


def _gdr(rdma: Rdma | None) -> str:
    if rdma is None or rdma.gdr.loaded is None:
        return "GPUDirect RDMA is unknown"
    if rdma.gdr.loaded:
        return f"GPUDirect RDMA by {', '.join(rdma.gdr.loaded)}"
    dmabuf = {None: "only the driver knows", True: "available", False: "not available"}[rdma.gdr.dmabuf]
    return f"no peer memory module is loaded, DMA-BUF: {dmabuf}"
