# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's GPUs are (`ansible_facts.gpu`).

None always means "could not be known from here". Field for field the facts' own shape.
"""

from __future__ import annotations

from .frozen import field, frozen
from .known import Record

# How far a GPU and an HCA are from each other on the PCI bus, from near to far, in the words of `nvidia-smi topo -m`.
RELATIONS = ("PIX", "PXB", "PHB", "NODE", "SYS")


@frozen
class Device(Record):
    """One logical GPU: a partition is a device of its own (partition: MIG profile or CPX/TPX/… mode)."""

    index: int
    name: str | None = None
    uuid: str | None = None
    pci_address: str | None = None
    numa_node: int | None = None
    memory_mib: int | None = None
    partition: str | None = None


@frozen
class Link(Record):
    """The link between the GPUs a < b: the vendor's word (NV18, XGMI, PCIE, PIX …) and how many links, if known."""

    a: int
    b: int
    relation: str
    count: int | None = None


@frozen
class NicLink(Record):
    """The PCI relation between a GPU and an HCA: PIX, PXB, PHB, NODE or SYS."""

    gpu: int
    nic: str
    relation: str


@frozen
class Nearest(Record):
    """The HCAs with the smallest relation to a GPU; on some machines the nearest is SYS."""

    gpu: int
    relation: str
    names: list[str]


@frozen
class TopologyFile(Record):
    """A file with the PCI topology of a VM; source is where it is known from, None where NCCL finds it by itself."""

    path: str
    source: str | None


@frozen
class GpuFault(Record):
    """Why the GPUs of a node do not work, or only one of them; words are those of the source.

    device is the PCI address of that one, index its number for the tool where the address is not known.

    kind: driver (not loaded, or it found no working GPU), versions (of driver and library), lost, reset (needed), none
    (no device for the tool), denied, hangs, other; or unknown: the tool cannot run, and whether they work is not known.
    """

    kind: str
    words: str
    source: str
    device: str | None = None
    index: int | None = None

    @property
    def is_about_all(self) -> bool:
        return self.device is None and self.index is None


@frozen
class Gpu(Record):
    """The GPUs of a node; count is how many a process here can open, vendor nvidia, amd or None.

    virtual is whether the node is a virtual machine; no fault: they work, as far as their driver knows.
    """

    vendor: str | None
    count: int
    driver_version: str | None = None
    runtime_version: str | None = None
    devices: list[Device] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    nics: dict[str, str] = field(default_factory=dict)
    nic_links: list[NicLink] = field(default_factory=list)
    nearest_nics: list[Nearest] = field(default_factory=list)
    topology_file: TopologyFile | None = None
    virtual: bool | None = None
    faults: list[GpuFault] = field(default_factory=list)


@frozen
class GpuProcess(Record):
    """A process that uses a GPU: device is its node in /dev or its PCI address, run_id that of a run of ours.

    user is the name of its uid on the node, rank its number in the run (RANK, as torchrun and the runner set it).
    """

    pid: int
    uid: int | None = None
    command: str | None = None
    run_id: str | None = None
    device: str | None = None
    user: str | None = None
    rank: int | None = None
