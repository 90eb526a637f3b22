# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's support for GPUDirect RDMA.

NCCL checks the same files (src/transport/net_ib/gdr.cc), RCCL those of amdkfd.
"""

from __future__ import annotations

from .._host.host import Host
from .._records.rdma import Gdr

# Folders of peer memory clients; RCCL checks all three (transport/net_ib.cc), NCCL the first.
MEMORY_PEERS = ("/sys/kernel/mm/memory_peers", "/sys/kernel/memory_peers", "/sys/memory_peers")
# The kernel's export with which amdgpu registers as a peer, needed where the files above are missing.
PEER_SYMBOL = b"ib_register_peer_memory_client"


def read_gdr(host: Host) -> Gdr:
    """Return what is loaded. dmabuf is None, because only a call of ibv_reg_dmabuf_mr determines it."""
    if not host.is_dir("/sys"):
        return Gdr(None, None, None, None)
    old = host.is_dir("/sys/module/nv_peer_mem")
    registered = any(host.exists(f"{MEMORY_PEERS[0]}/{client}/version") for client in ("nv_mem", "nv_mem_nc"))
    return Gdr(
        nvidia_peermem=host.is_dir("/sys/module/nvidia_peermem") or (registered and not old),
        nv_peer_mem=old,
        dmabuf=None,
        amd_peer=_amd_peer(host),
    )


def _amd_peer(host: Host) -> bool:
    if any(host.exists(f"{folder}/amdkfd/version") for folder in MEMORY_PEERS):
        return True
    # 10 MB and a tenth of a second, so it is read only with an AMD GPU.
    return host.is_dir("/sys/class/kfd") and PEER_SYMBOL in (host.read_bytes("/proc/kallsyms") or b"")
