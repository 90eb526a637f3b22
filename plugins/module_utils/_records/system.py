# SPDX-License-Identifier: GPL-3.0-or-later
"""What surrounds a node's ranks: container, disks, versions, kernel.

None always means "could not be known from here". Parts of NodeFacts, field for field the facts' own shape.
"""

from __future__ import annotations

from .frozen import field, frozen
from .known import Record


@frozen
class Memlock(Record):
    """Limits of locked memory in bytes; -1 is unlimited.

    cap_ipc_lock: the kernel does not count what this process locks. effective is what the two come to.
    """

    soft: int | None
    hard: int | None
    cap_ipc_lock: bool | None = None
    effective: int | None = None


@frozen
class SlurmStep(Record):
    """The step of a Slurm job that this process is in; node is the node's name in Slurm, None if it is not known.

    step is its number, or extern for a login that was taken into the job, or batch. is_tracked: Slurm ends all
    processes of the step when it ends. memory_bytes is what the job may use of the node's memory, None for all.
    """

    job: str
    step: str
    node: str | None = None
    is_tracked: bool = False
    memory_bytes: int | None = None


@frozen
class Limit(Record):
    """A limit of this process, and how far it may raise it itself; -1 is unlimited."""

    soft: int | None
    hard: int | None


@frozen
class Inherited(Record):
    """Variables for NCCL and PyTorch that processes get from one source.

    kind is login, image, or nccl or rccl for a file of that library. in_container: it holds in the containers of the
    compose service, not for processes of the node.
    """

    kind: str
    source: str
    variables: dict[str, str]
    in_container: bool = False


@frozen
class Container(Record):
    """What kind of container this is (None: none detected), and what of the host it shares.

    source is where this was read, pod the pod's namespace and name, shm_bytes the size of /dev/shm.
    """

    kind: str | None
    source: str | None = None
    pod: str | None = None
    shm_bytes: int | None = None
    host_network: bool | None = None
    host_ipc: bool | None = None


@frozen
class Disk(Record):
    """The file system of a directory that need not exist yet; free is what this user may still write, in bytes.

    writable: a file could be written there and removed again; write_error is why not. None: not tried.
    is_workdir: runs write there. usable: the directory exists, this user may create files in it, and if it is root, no
    other user can replace it.
    """

    path: str
    mount_point: str | None = None
    filesystem: str | None = None
    size_bytes: int | None = None
    free_bytes: int | None = None
    free_inodes: int | None = None
    read_only: bool | None = None
    writable: bool | None = None
    write_error: str | None = None
    is_workdir: bool = False
    usable: bool | None = None


@frozen
class Versions(Record):
    """Versions as written in files, and in sources which file; nothing was started to learn them.

    site_packages is where the training interpreter looks for packages, None where files do not tell it for certain:
    only with it does a package that is None mean one that is not installed. python_path is the PYTHONPATH that was
    asked for, None where the login's counts.
    """

    python: str | None = None
    torch: str | None = None
    torch_cuda: str | None = None
    torch_hip: str | None = None
    accelerate: str | None = None
    deepspeed: str | None = None
    nccl: str | None = None
    rccl: str | None = None
    rocm: str | None = None
    nvidia: str | None = None
    nvidia_peermem: str | None = None
    amdgpu: str | None = None
    mlx5: str | None = None
    site_packages: list[str] | None = None
    python_path: str | None = None
    sources: dict[str, str] = field(default_factory=dict)


@frozen
class Tools(Record):
    """Versions of container runtimes and schedulers by their own word; None where there is none of that name."""

    docker: str | None = None
    podman: str | None = None
    apptainer: str | None = None
    slurm: str | None = None


@frozen
class ProfilerTool(Record):
    """A profiler where the ranks run: how it is started there, None where it is missing, and its version.

    why: the reason where it could not be looked for.
    """

    path: str | None = None
    version: str | None = None
    why: str | None = None


@frozen
class Apptainer(Record):
    """Apptainer on a node, and what a program in its image sees; version None: the command was not found.

    image is its path, identity the ID of a SIF's build (None: not a SIF). has_python: whether the interpreter of the
    ranks runs in it, None where nothing could be run there, and why. variables are those for NCCL and PyTorch that the
    image sets. binds are paths of the node that are to be bound, and whether they exist; links are the directories of
    a run that lie behind links, and where. fuse: whether this user may open /dev/fuse; user_namespaces: whether the
    kernel's settings let users create them; infiniband: whether the image sees /dev/infiniband.
    """

    image: str
    exists: bool
    version: str | None = None
    identity: str | None = None
    has_python: bool | None = None
    why: str | None = None
    python: str | None = None
    torch: str | None = None
    nccl: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    binds: dict[str, bool] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    infiniband: bool | None = None
    fuse: bool | None = None
    user_namespaces: bool | None = None


@frozen
class Kernel(Record):
    """The kernel: its release, what its command line says of PCI and memory, and the modules RDMA needs.

    rdma_netns is shared or exclusive: whether every network namespace sees all RDMA devices.
    """

    release: str | None = None
    command_line: list[str] | None = None
    numa_balancing: int | None = None
    numa_nodes: int | None = None
    transparent_hugepage: str | None = None
    modules: list[str] = field(default_factory=list)
    memory_peers: list[str] = field(default_factory=list)
    rdma_netns: str | None = None
