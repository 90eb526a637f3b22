# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do about each difference that the logs of NCCL show.

The numbers of completions are those of ibv_wc_status (rdma-core, verbs.h), with what NCCL's troubleshooting guide and
reports of users name as their causes; those of calls are errno.
"""

from __future__ import annotations

from .nccl_log import NcclError

NO_LOG = "set NCCL_DEBUG=INFO (and NCCL_DEBUG_SUBSYS=INIT,ENV,NET), and read the log after the first collective"
NO_EDGE = f"run a collective over all ranks first: newer releases connect at the first one; {NO_LOG}"
FALLBACK = (
    "look at NCCL_IB_DISABLE, NCCL_NET and NCCL_IB_HCA, at the ports' state, and whether the ranks may open "
    "/dev/infiniband (muster.train.detect shows all of them)"
)
NOT_TCP = "set NCCL_IB_DISABLE=1 on all nodes, or expect rdma"
NO_GDR = (
    "load nvidia_peermem (AMD: amdgpu's peer memory) or use a kernel and driver with DMA-BUF, and keep GPU and NIC "
    "below one PCIe switch; virtual machines need a topology file (NCCL_TOPO_FILE)"
)
NICS = "look at the ports' state and at NCCL_IB_HCA, which has to name all of them exactly"
LINK_LAYERS = "name the ports of one kind in NCCL_IB_HCA: NCCL cannot merge or connect both"
PLUGIN = "look at the plugin's own lines of the log, such as the provider of libfabric"
PARTIAL = "raise max_bytes, or give fewer files"
UNREAD = "name files and directories that are there, and read them as a user who may (become)"
WARNING = "read this line, and those around it in the log of the rank"

_PEER = (
    "look whether the peer has ended, at NCCL_SOCKET_IFNAME, and whether a firewall closes the ports between the nodes"
)
_EVENT = (
    "look at the cable, the switch's port and the kernel's log: the device or its port failed while the ranks used it"
)

_STATUSES = {
    4: "look at PCIe ACS, the IOMMU and GPUDirect RDMA: the adapter may not write to this memory",
    5: "look for the first error, on this node or on the peer: this one follows from it",
    10: "look at the peer: it unregistered the memory or has ended",
    12: "look at the path to the peer: rails that cannot reach each other (NCCL_CROSS_NIC=0), GID index, MTU, ACLs",
    13: "look whether the peer hangs: it did not take what was sent",
}
_ERRNOS = {
    12: "raise the limit of locked memory (the role memlock)",
    22: "leave NCCL_IB_GID_INDEX to NCCL: the GID of that index is not one that can be used",
    61: "leave NCCL_IB_GID_INDEX to NCCL: the GID table has nothing at that index",
    104: _PEER,
    110: "look at the path to the peer: rails that cannot reach each other (NCCL_CROSS_NIC=0), address, VLAN, ACLs",
    111: _PEER,
    113: "look at the routes between the ports' networks",
}
_SPACE = "make /dev/shm larger, through which ranks of a node exchange data"
_OTHER = "look at the kernel's log and the ports' counters on this node and on the peer"


def of_error(error: NcclError) -> str:
    """Return the remedy for a failed completion or call, or an event."""
    if error.event:
        return _EVENT
    if error.call and not error.call.startswith("ibv_"):
        return _SPACE if error.errno == 28 else _PEER
    table, number = (_ERRNOS, error.errno) if error.kind == "call" else (_STATUSES, error.status)
    return table.get(number if number is not None else -1, _OTHER)
