# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node is, beside what it is: clock, names, devices, engine, kernel log.

None always means "could not be known from here". Parts of NodeFacts, field for field the facts' own shape.
"""

from __future__ import annotations

from .frozen import field, frozen
from .known import Record


@frozen
class Clock(Record):
    """The node's clock in seconds since the epoch when it was read; asked is the controller's when it sent the task.

    synchronized is the kernel's answer (adjtimex), source where the answer is from.
    """

    wall: float
    asked: float | None = None
    synchronized: bool | None = None
    source: str | None = None


@frozen
class ResolvedName(Record):
    """The addresses of a name here; source is /etc/hosts or resolver, None without an address, which error explains.

    ms: how long that took, at most 5,000; reverse_ms: how long it took to find the name of its first address, at most
    4,000, None without an address.
    """

    addresses: list[str] = field(default_factory=list)
    source: str | None = None
    error: str | None = None
    ms: int | None = None
    reverse_ms: int | None = None


@frozen
class DeviceFile(Record):
    """A device node of a GPU or an adapter; mode in octal digits, readable and writable for the user of the facts."""

    path: str
    mode: str | None = None
    uid: int | None = None
    gid: int | None = None
    readable: bool | None = None
    writable: bool | None = None


@frozen
class Image(Record):
    """An image in the node's engine; digests are those of repositories (name@sha256:…), none for one never pulled."""

    id: str
    digests: list[str] = field(default_factory=list)


@frozen
class Engine(Record):
    """The container engine as command asks it; running None: it is there, but does not answer this user (see why).

    compose is the plugin's version. gpu_containers are names of running containers with GPUs. images has an entry for
    every image asked for, None where the engine has none; empty where they could not be listed. default_memlock is in
    bytes, -1 is unlimited; memlock_source is where it was read. denied: sudo does not let this user call it.
    """

    command: list[str]
    version: str | None = None
    running: bool | None = None
    why: str | None = None
    compose: str | None = None
    root_dir: str | None = None
    containers: int | None = None
    gpu_containers: list[str] | None = None
    images: dict[str, Image | None] = field(default_factory=dict)
    runtimes: list[str] = field(default_factory=list)
    cdi: bool | None = None
    default_memlock: int | None = None
    memlock_source: str | None = None
    denied: bool = False


@frozen
class Reach(Record):
    """Whether a port answers: connected, refused (by the host: the port is closed), timeout, unreachable, unknown."""

    address: str
    port: int
    result: str
    error: str | None = None


@frozen
class KernelError(Record):
    """A line of the kernel's log about a GPU or an adapter.

    kind: xid, sxid, remap (pending), bus (fallen off it), init (failed), gsp, nvlink, ras, reset failed, ring (timeout)
    or mlx5. code is the number of an XID or SXid, device the PCI address. Lines of one kind, code and device are one
    record: count of them, text of the first, monotonic_s (seconds since the boot) of the last; reset_s: the device was
    reset after it.
    """

    kind: str
    code: int | None = None
    device: str | None = None
    text: str = ""
    monotonic_s: float | None = None
    count: int = 1
    reset_s: float | None = None


@frozen
class KernelLog(Record):
    """Errors in the kernel's log of this boot; where it is not readable, errors is empty and why says why.

    complete is False where the log's beginning is lost (the ring of dmesg was overwritten), None where unknown.
    """

    readable: bool
    why: str | None = None
    errors: list[KernelError] = field(default_factory=list)
    source: str | None = None
    complete: bool | None = None


@frozen
class RunProcess(Record):
    """A process that carries a run's mark (MUSTER_RUN_ID) in its environment."""

    pid: int
    uid: int | None = None
    command: str | None = None
    run_id: str | None = None


@frozen
class HungProcess(Record):
    """A process that sleeps in the kernel and cannot be ended (state D, seen twice); wait is where, if known."""

    pid: int
    command: str | None = None
    wait: str | None = None


@frozen
class Processes(Record):
    """What is left of runs, what hangs in the kernel; hidden: how many could not be looked into."""

    runs: list[RunProcess] | None = None
    hung: list[HungProcess] | None = None
    hidden: int | None = None


@frozen
class Memory(Record):
    """Main memory in bytes, how many huge pages are set aside, and the CPUs' frequency governor (if all have one).

    limit_bytes is what control groups leave this process of it, as in a pod with a limit; None without one.
    """

    total_bytes: int | None = None
    available_bytes: int | None = None
    swap_bytes: int | None = None
    hugepages: int | None = None
    governor: str | None = None
    limit_bytes: int | None = None


@frozen
class Sudo(Record):
    """Whether this user becomes root without a password, and if not, sudo's answer."""

    passwordless: bool | None = None
    why: str | None = None


@frozen
class Interface(Record):
    """A network interface: state as the kernel's operstate, speed in Mb/s, how often it lost or found its carrier."""

    state: str | None = None
    mtu: int | None = None
    speed_mbps: int | None = None
    carrier_changes: int | None = None


@frozen
class RdmaHealth(Record):
    """What surrounds the RDMA devices, beside themselves.

    iommu is the type of a device's IOMMU domain (identity, DMA, DMA-FQ) by its PCI address, without devices that are in
    none. acs_redirects has for each PCI bridge above a device whether it sends upstream what devices below it send each
    other, None where only root may read that. tools are paths of programs by their names.
    """

    iommu: dict[str, str] = field(default_factory=dict)
    acs_redirects: dict[str, bool | None] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)


@frozen
class GpuState(Record):
    """How a GPU is. ecc_mode and ecc_pending: enabled or disabled; ecc_uncorrected since the driver was loaded.

    throttle are the reasons of a slower clock that are active now, in the vendor's words; nvlinks_down the numbers of
    NVLinks without a peer; bad_pages those AMD has retired; fabric_state (Completed when it may talk to others over
    NVSwitches) in NVIDIA's word; trouble is what the tool prints instead of values (GPU is lost). load_percent is the
    part of the last sample in which the GPU computed, memory_used_mib of all processes together.
    """

    index: int
    pci_address: str | None = None
    uuid: str | None = None
    ecc_mode: str | None = None
    ecc_pending: str | None = None
    ecc_uncorrected: int | None = None
    remap_pending: bool | None = None
    remap_failure: bool | None = None
    link_width: int | None = None
    link_width_max: int | None = None
    link_gen: int | None = None
    link_gen_max: int | None = None
    throttle: list[str] | None = None
    persistence: bool | None = None
    nvlinks_down: list[int] | None = None
    bad_pages: int | None = None
    temperature_c: int | None = None
    load_percent: int | None = None
    memory_used_mib: int | None = None
    fabric_state: str | None = None
    trouble: str | None = None


@frozen
class FabricManager(Record):
    """NVIDIA's fabric manager: needed where the node has NVSwitches; state is systemd's word for the service."""

    needed: bool | None = None
    active: bool | None = None
    state: str | None = None


@frozen
class GpuHealth(Record):
    """How the GPUs are; devices is None where no tool and no file could tell."""

    devices: list[GpuState] | None = None
    fabric_manager: FabricManager | None = None
    why: str | None = None
