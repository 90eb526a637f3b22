# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is (`ansible_facts.node`), as both sides know it.

None always means "could not be known from here". Keys that are not known are ignored: a fact cache may be
older or newer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .frozen import field, frozen
from .gpu import GpuProcess
from .holder import LaunchHolder
from .known import Record
from .path_part import PathPart
from .subsets import HEALTH
from .system import (
    Apptainer,
    Container,
    Disk,
    Inherited,
    Kernel,
    Limit,
    Memlock,
    ProfilerTool,
    SlurmStep,
    Tools,
    Versions,
)

if TYPE_CHECKING:  # on the node every file of a module is compiled anew, and only preflight asks how a node is
    from . import health


@frozen
class User(Record):
    """Who the facts were gathered as, which is who the ranks will run as."""

    name: str
    uid: int
    home: str


def is_ipv6(text: str) -> bool:
    """Return whether an address or a network is of IPv6."""
    return ":" in text


@frozen
class Address(Record):
    """One address of this machine; the interface is None where neither the kernel nor the routes determine it."""

    address: str
    interface: str | None


@frozen
class Route(Record):
    """One route; gateway is None where the destination is on the link itself."""

    destination: str
    interface: str
    gateway: str | None
    metric: int


@frozen
class Rule(Record):
    """A rule of policy routing that new connections (to the destination only, if it has one) follow into a table."""

    priority: int
    destination: str | None
    table: str
    ipv6: bool = False


@frozen
class PortHolder(Record):
    """The process that listens on a port; of another user's process, only the uid is visible."""

    pid: int | None
    command: str | None
    run_id: str | None
    uid: int | None = None


@frozen
class Net(Record):
    """How this node reaches others. Holders are only of the requested ports that are in use.

    rules are those of policy routing that lead new connections into other tables than the usual ones, which routes has.
    speeds are in Mb/s, of the interfaces with an address that are up. port_range has the first and the last port that
    the kernel chooses. namespace is the inode of its network namespace.
    """

    addresses: list[Address]
    routes: list[Route]
    listening: list[int]
    holders: dict[str, PortHolder]
    rules: list[Rule] | None = None
    speeds: dict[str, int] = field(default_factory=dict)
    port_range: list[int] | None = None
    namespace: str | None = None

    @property
    def default_route(self) -> Route | None:
        """The route to everywhere else; of several the one that the kernel prefers, of IPv4 if there is one."""
        routes = [route for route in self.routes if route.destination.endswith("/0")]
        return min(routes, key=lambda route: (is_ipv6(route.destination), route.metric), default=None)


@frozen
class Workdir(Record):
    """Where runs are kept. Two nodes with the same identity have the same directory of the same machine.

    filesystem is the type as mounted, such as ext4 or nfs4; flock whether flock(2) works there, None where it was not
    tried, flock_error the kernel's words if it does not; untrusted the first part of the path that a user other than
    root and this one could change.
    """

    path: str
    identity: str | None
    writable: bool
    free_bytes: int | None
    filesystem: str | None = None
    flock: bool | None = None
    flock_error: str | None = None
    untrusted: PathPart | None = None


# Of the code, with a digest of each: together some tens of KiB at most.
LISTED_FILES = 500


@frozen
class Code(Record):
    """The code the ranks run; branch is None on a detached head, dirty: changed files, or new ones that could be run.

    changes is a digest of those files: two nodes with the same commit and the same changes have the same code. Without
    git, tree is a digest of all files that can be imported. files are the first LISTED_FILES of either digest by name,
    with the beginning of the digest of each, "" for one that is deleted; uncompared is why the digest is missing.
    source is git, or the name of the file that the role code left. why says what could not be read and for which
    reason; without it a commit of None means that it is not a checkout.
    """

    path: str
    exists: bool
    commit: str | None
    branch: str | None
    dirty: bool | None
    changes: str | None = None
    source: str | None = None
    why: str | None = None
    tree: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    uncompared: str | None = None


@frozen
class TrainingPython(Record):
    """The training interpreter as asked for, and where it was found (None: not found)."""

    command: str
    path: str | None


@frozen
class File(Record):
    """One file that was asked for; readable is true for regular files only.

    beside: where it does not exist, the files of its directory with the same ending.
    """

    path: str
    exists: bool
    readable: bool
    sha256: str | None
    beside: list[str] = field(default_factory=list)


@frozen
class Script(Record):
    """The script of a launch, as the interpreter that is to run it reads it.

    fault is what is wrong in its syntax, in line, None if nothing is. missing are modules that it imports and that are
    not installed, as far as that is certain. why: the reason where it could not be read.
    """

    path: str
    line: int | None = None
    fault: str | None = None
    missing: list[str] = field(default_factory=list)
    why: str | None = None


@frozen
class Config(Record):
    """The launch's configuration file; text is None when it cannot be read whole as UTF-8."""

    path: str
    text: str | None


@frozen
class Systemd(Record):
    """Whether systemd runs this machine, and whether this user's services outlive their last session.

    kill_user_processes: logind ends this user's processes with their session; remove_ipc is its setting. None: not set.
    in_session: this login's processes are in a control group of logind, None where that is not known.
    """

    booted: bool
    linger: bool
    kill_user_processes: bool | None = None
    remove_ipc: bool | None = None
    in_session: bool | None = None


@frozen
class NodeFacts(Record):
    """What a node is (`ansible_facts.node`). A subset that failed or was not asked for is None.

    cpus is how many the ranks may use, cpu_limit how many of them control groups leave (None: no such limit).
    """

    hostname: str
    machine_id: str | None
    boot_id: str | None
    user: User
    cpus: int
    net: Net | None
    workdir: Workdir
    code: Code | None
    python: TrainingPython
    files: dict[str, File] | None
    config: Config | None
    systemd: Systemd
    memlock: Memlock | None
    holder: LaunchHolder | None
    cpu_limit: int | None = None
    limits: dict[str, Limit] | None = None
    container: Container | None = None
    disks: list[Disk] | None = None
    versions: Versions | None = None
    tools: Tools | None = None
    profiler: ProfilerTool | None = None
    script: Script | None = None
    apptainer: Apptainer | None = None
    kernel: Kernel | None = None
    inherited: list[Inherited] | None = None
    slurm: SlurmStep | None = None
    timings: dict[str, int] = field(default_factory=dict)
    clock: health.Clock | None = None
    names: dict[str, health.ResolvedName] | None = None
    devices: list[health.DeviceFile] | None = None
    engine: health.Engine | None = None
    reach: list[health.Reach] | None = None
    kernel_log: health.KernelLog | None = None
    processes: health.Processes | None = None
    memory: health.Memory | None = None
    sudo: health.Sudo | None = None
    interfaces: dict[str, health.Interface] | None = None
    gpu_health: health.GpuHealth | None = None
    gpu_processes: list[GpuProcess] | None = None
    rdma_health: health.RdmaHealth | None = None
    services: dict[str, Limit] | None = None

    @classmethod
    def from_dict(cls, data: dict[str, Any], *modules: str) -> NodeFacts:
        if any(data.get(name) for name in HEALTH):
            from . import health

            modules = (health.__name__,)
        return super().from_dict(data, *modules)
