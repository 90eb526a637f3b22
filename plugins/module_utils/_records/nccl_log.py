# SPDX-License-Identifier: GPL-3.0-or-later
"""What the logs of NCCL or RCCL on a node show, rank by rank, in numbers of a bounded size.

None always means that no line of the log shows it.
"""

from __future__ import annotations

from .frozen import field, frozen
from .known import Record

RDMA, TCP = "rdma", "tcp"
# Names of libfabric's providers; the others do not say what is below them.
_PROVIDERS = {
    "efa": RDMA,
    "verbs": RDMA,
    "cxi": RDMA,
    "opx": RDMA,
    "psm3": RDMA,
    "tcp": TCP,
    "sockets": TCP,
    "udp": TCP,
}


@frozen
class LogAddress(Record):
    """An interface that NCCL uses, with its address as the log has it (logs are anonymized)."""

    interface: str
    address: str | None = None


@frozen
class OpenedHca(Record):
    """A device that NCCL opened; link is IB or RoCE."""

    index: int
    name: str
    port: int | None = None
    link: str | None = None
    sharp: bool = False


@frozen
class NetEdges(Record):
    """A rank's connections through a network of NCCL (IB, Socket, AWS Libfabric), counted by channel and direction.

    gdr: with GPUDirect RDMA. outside: whether any leads to a rank that is not known to be on its node. nics: NCCL's
    numbers of its network devices. pxn: those through the NIC of another rank of the node. line: the first of them.
    channels: the numbers of their channels. sent: those of which the rank is known to be the sender.
    """

    network: str
    gdr: bool
    count: int
    outside: bool
    nics: list[int]
    pxn: int
    line: str
    channels: list[int] = field(default_factory=list)
    sent: int = 0


@frozen
class NcclError(Record):
    """Lines of NCCL that warn, alike in all but their time: a failed completion or call, a device's event, or other.

    status and vendor_err are those of the completion, errno that of the call, event what happened to a device; count
    of them, and the first line.
    """

    kind: str
    status: int | None = None
    vendor_err: int | None = None
    call: str | None = None
    errno: int | None = None
    event: str | None = None
    device: str | None = None
    peer: str | None = None
    gid_index: int | None = None
    state: str | None = None
    next_state: str | None = None
    time: str | None = None
    count: int = 1
    line: str = ""


@frozen
class RankLog(Record):
    """What one rank logged. rank: in the largest communicator that it joined, whose size is nranks; device: its GPU.

    version_at_least: the release whose kind of lines these are, where no line names the version. network: the one
    chosen, which proves nothing yet. opened: whether NCCL found an HCA. plugins by kind; env: the variables that NCCL
    read, env_set_by_plugin those that a plugin set. channels: how many of each kind NCCL made; channels_used: the
    highest number of one that a connection names, plus one. local: connections inside the node by their transport.
    ring_gdr, ring_pxn: what NCCL says of the rings (2.24 and newer), which may be on nnodes nodes, the fewest of its
    communicators (nodes with one NVLink are one). ambiguous: it joined communicators of several sizes or with several
    numbers, which cannot be told apart.
    """

    host: str | None = None
    pid: str | None = None
    device: int | None = None
    rank: int | None = None
    nranks: int | None = None
    nnodes: int | None = None
    bus_id: str | None = None
    library: str | None = None
    version: str | None = None
    version_at_least: str | None = None
    bootstrap: LogAddress | None = None
    network: str | None = None
    opened: bool | None = None
    hcas: list[OpenedHca] = field(default_factory=list)
    relaxed_ordering: bool | None = None
    oob: LogAddress | None = None
    sockets: list[LogAddress] = field(default_factory=list)
    plugins: dict[str, str] = field(default_factory=dict)
    provider: str | None = None
    provider_nics: int | None = None
    dmabuf: bool | None = None
    gdr_hcas: dict[str, bool] = field(default_factory=dict)
    gdr_refused: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    env_set_by_plugin: dict[str, str] = field(default_factory=dict)
    net: list[NetEdges] = field(default_factory=list)
    local: dict[str, int] = field(default_factory=dict)
    channels: dict[str, int] = field(default_factory=dict)
    channels_used: int = 0
    merged_nics: bool = False
    rings: bool = False
    ring_gdr: bool | None = None
    ring_pxn: int | None = None
    ring_line: str | None = None
    init_started: bool = False
    init_complete: bool = False
    ambiguous: bool = False
    warnings: int = 0
    errors: list[NcclError] = field(default_factory=list)
    choice_line: str | None = None

    @property
    def name(self) -> str:
        """Return what the rank is called: its number, or else its process and GPU."""
        if self.rank is not None:
            return str(self.rank)
        return f"{self.host or ''}:{self.pid}[{self.device}]" if self.pid else "unnamed"

    @property
    def outside(self) -> list[NetEdges]:
        """Return its connections to other nodes."""
        return [edges for edges in self.net if edges.outside]

    def fabric_of(self, network: str) -> str | None:
        """Return rdma or tcp; None for a network whose plugin does not show what is below it.

        GPUDirect shows nothing: TCPX has it over TCP.
        """
        if "Socket" in network or "TCPX" in network:
            return TCP
        # Google's plugin for its RDMA hosts is gIB.
        return RDMA if network.startswith(("IB", "gIB")) else _PROVIDERS.get((self.provider or "").partition(";")[0])


@frozen
class NcclTopology(Record):
    """What NCCL detected, of all ranks together: GPUs, speed of network devices, links of PCI below 1 GB/s (in GB/s).

    Such a link of a virtual machine is not slow: its speed cannot be read, and NCCL needs a topology file.
    """

    gpus: list[str] = field(default_factory=list)
    nets: dict[str, float] = field(default_factory=dict)
    slow_pci: dict[str, float] = field(default_factory=dict)


@frozen
class NcclLog(Record):
    """What the logs of a node show. complete: no part and no rank was left out because of a limit.

    unread: how many paths are not there or cannot be read.
    """

    ranks: list[RankLog] = field(default_factory=list)
    topology: NcclTopology = NcclTopology()
    files: int = 0
    bytes_read: int = 0
    complete: bool = True
    unread: int = 0
