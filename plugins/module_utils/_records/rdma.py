# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's RDMA devices are (`ansible_facts.rdma`).

None always means "could not be known from here". Field for field the facts' own shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .frozen import frozen
from .known import Record

AMAZON = "0x1d0f"  # a vendor_id
ROCE_V2 = "RoCE v2"  # a type of GID


@frozen
class Gid(Record):
    """One entry of a port's GID table that is set; address is the IPv4 or IPv6 address it stands for."""

    index: int
    gid: str
    type: str | None
    address: str | None
    ndev: str | None

    @property
    def family(self) -> int | None:
        """4 or 6; None for an IPv6 address of the link alone. NCCL does not know that 169.254.0.0/16 is one of IPv4."""
        address = (self.address or "").replace("::ffff:", "")
        if ":" not in address:
            return 4 if address else None
        return None if address == "::" or address.startswith("fe80:") else 6


def choose_gid(
    gids: Iterable[Gid], netdev: str | None, ports_in_network: Callable[[Gid], int] | None = None
) -> Gid | None:
    """Return the entry that a RoCE port should send from; None where the table has none.

    Of RoCE v2 and with an address that others reach: IPv4 before IPv6, of the port's own network device, in the network
    of most ports of the cluster (known only where all nodes are), the lowest index.
    """

    def order(gid: Gid) -> tuple[bool, bool, bool, int, int]:
        address = (gid.address or "").replace("::ffff:", "")
        in_network = ports_in_network(gid) if ports_in_network else 0
        foreign = netdev is not None and gid.ndev != netdev
        return gid.family == 6, address.startswith("169.254."), foreign, -in_network, gid.index

    return min((gid for gid in gids if gid.type == ROCE_V2 and gid.family), key=order, default=None)


@frozen
class Port(Record):
    """One port; states are the kernel's words, rate in Gb/s; reasons say why it is not usable.

    signaling has the lanes and their speed, as in "4X NDR".
    """

    port: int
    state: str | None
    phys_state: str | None
    link_layer: str | None
    rate_gbps: float | None
    lid: int | None
    sm_lid: int | None
    netdev: str | None
    mtu: int | None
    counters: dict[str, int]
    gids: list[Gid]
    rocev2_gid_index: int | None
    usable: bool
    reasons: list[str]
    signaling: str | None = None


@frozen
class Hca(Record):
    """One device below /sys/class/infiniband; link_… are its PCIe link's lanes and generation, now and at most.

    virtual_functions is how many it has now, virtual_functions_max how many it could have.
    """

    name: str
    node_type: str | None
    vendor_id: str | None
    driver: str | None
    hca_type: str | None
    board_id: str | None
    fw_ver: str | None
    node_guid: str | None
    pci_address: str | None
    numa_node: int | None
    physfn: str | None
    uverbs: str | None
    netdevs: list[str]
    ports: list[Port]
    link_width: int | None = None
    link_width_max: int | None = None
    link_gen: int | None = None
    link_gen_max: int | None = None
    virtual_functions: int | None = None
    virtual_functions_max: int | None = None


@frozen
class Gdr(Record):
    """What the kernel has for GPUDirect RDMA; dmabuf is None because only the driver itself can tell."""

    nvidia_peermem: bool | None
    nv_peer_mem: bool | None
    dmabuf: bool | None
    amd_peer: bool | None

    @property
    def loaded(self) -> list[str] | None:
        """The modules that are loaded, by their usual names; None where they could not be read."""
        modules = {"nvidia_peermem": self.nvidia_peermem, "nv_peer_mem": self.nv_peer_mem, "amdkfd": self.amd_peer}
        if all(loaded is None for loaded in modules.values()):
            return None
        return [name for name, loaded in modules.items() if loaded]


@frozen
class Rdma(Record):
    """All RDMA devices; usable: at least one port that NCCL could use, None where the devices could not be seen."""

    usable: bool | None
    gdr: Gdr
    hcas: list[Hca]
