# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel has for GPUDirect RDMA.

NCCL looks for the same files (src/transport/net_ib/gdr.cc), RCCL for those of amdkfd.
"""

from __future__ import annotations

from .._host.host import Host
from .._records.rdma import Gdr

# Where peer memory clients stand; RCCL looks in all three (transport/net_ib.cc), NCCL in the first.
MEMORY_PEERS = ("/sys/kernel/mm/memory_peers", "/sys/kernel/memory_peers", "/sys/memory_peers")
# What a kernel exports that lets amdgpu register as peer; without the files above only this tells.
PEER_SYMBOL = b"ib_register_peer_memory_client"


def read_gdr(host: Host) -> Gdr:
    """Return what is loaded. dmabuf is None: only ibv_reg_dmabuf_mr can tell, kernels have it patched in or out."""
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
    # 10 MB and a tenth of a second: only where there is an AMD GPU.
    return host.is_dir("/sys/class/kfd") and PEER_SYMBOL in (host.read_bytes("/proc/kallsyms") or b"")
