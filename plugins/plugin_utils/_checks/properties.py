# SPDX-License-Identifier: GPL-3.0-or-later
"""What should be the same on all nodes, under the names that users know."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.muster.train.plugins.module_utils._records.node import Code

from .._cluster.node import Node
from .._findings.remedy import HARD_LIMIT, SAME_STATE, playbook, sentence
from .code import state
from .comparison import Property, joined, ranks_hcas, ranks_ports
from .model import Cluster

ABSENT = "none"


def _gpus(node: Node, _cluster: Cluster) -> str | None:
    return None if node.gpu is None else str(node.gpu.count)


def _gpu_model(node: Node, _cluster: Cluster) -> str | None:
    return None if node.gpu is None else joined(device.name for device in node.gpu.devices)


def _driver(node: Node, _cluster: Cluster) -> str | None:
    if node.gpu is None:
        return None
    return (node.gpu.driver_version or None) if node.gpu.count else ""


def _runtime(node: Node, _cluster: Cluster) -> str | None:
    return None if node.gpu is None else node.gpu.runtime_version or ""


def _firmware(node: Node, cluster: Cluster) -> str | None:
    if node.rdma is None:
        return None
    hcas = ranks_hcas(node, cluster)
    return joined(" ".join(filter(None, (hca.hca_type, hca.fw_ver))) for hca in hcas if hca.fw_ver)


def _mtu(node: Node, cluster: Cluster) -> str | None:
    if node.rdma is None:
        return None
    return joined(str(item.port.mtu) for item in ranks_ports(node, cluster) if item.port.mtu)


def _gdr(node: Node, cluster: Cluster) -> str | None:
    if node.rdma is None:
        return None
    if node.gpu is None or not node.gpu.count or not ranks_ports(node, cluster):
        return ""
    loaded = node.rdma.gdr.loaded
    return None if loaded is None else ", ".join(loaded) or ABSENT


def _network_mtu(node: Node, cluster: Cluster) -> str | None:
    """The MTU of the interfaces behind the ranks' RoCE ports and of the one with the node's default route."""
    if node.facts.interfaces is None:
        return None
    names = {name for item in ranks_ports(node, cluster) for name in item.netdevs}
    default = node.facts.net.default_route if node.facts.net else None
    names |= {default.interface} if default else set()
    known = node.facts.interfaces
    return joined(str(known[name].mtu) for name in names if name in known and known[name].mtu)


def _version(name: str) -> Callable[[Node, Cluster], str | None]:
    def of(node: Node, cluster: Cluster) -> str | None:
        if not cluster.on_host:
            return ""  # the host's packages are not the container's
        if node.facts.versions is None:
            return None
        value = getattr(node.facts.versions, name)
        return str(value) if value else ""

    return of


def _code(read: Callable[[Code], str | None]) -> Callable[[Node, Cluster], str | None]:
    def of(node: Node, _cluster: Cluster) -> str | None:
        return (read(node.facts.code) or "") if node.facts.code else ""

    return of


def _changes(node: Node, _cluster: Cluster) -> str | None:
    return state(node.facts.code) if node.facts.code else ""


def _kernel(node: Node, _cluster: Cluster) -> str | None:
    return None if node.facts.kernel is None else node.facts.kernel.release


def _command_line(node: Node, _cluster: Cluster) -> str | None:
    if node.facts.kernel is None or node.facts.kernel.command_line is None:
        return None
    return " ".join(node.facts.kernel.command_line) or ABSENT


def _memlock(node: Node, _cluster: Cluster) -> str | None:
    memlock = node.facts.memlock
    if memlock is None or memlock.effective is None:
        return None
    return "unlimited" if memlock.effective == -1 else f"{memlock.effective} bytes"


def _limit(name: str) -> Callable[[Node, Cluster], str | None]:
    def of(node: Node, _cluster: Cluster) -> str | None:
        limit = (node.facts.limits or {}).get(name)
        if node.facts.limits is None:
            return None
        return "" if limit is None or limit.hard is None else "unlimited" if limit.hard == -1 else str(limit.hard)

    return of


def _image(node: Node, cluster: Cluster) -> str | None:
    engine = node.facts.engine
    if not cluster.policy.container_image:
        return ""
    if engine is None or not engine.running:
        return None
    image = engine.images.get(cluster.policy.container_image)
    return min(image.digests, default=image.id or "") if image is not None else ""


def _image_file(node: Node, _cluster: Cluster) -> str | None:
    identity = node.facts.apptainer.identity if node.facts.apptainer else None
    return f"build {identity[:12]}" if identity else ""


def _engine(node: Node, _cluster: Cluster) -> str | None:
    engine = node.facts.engine
    return "" if engine is None or not engine.version else engine.version


def _governor(node: Node, _cluster: Cluster) -> str | None:
    return None if node.facts.memory is None else node.facts.memory.governor or ""


def _cpus(node: Node, _cluster: Cluster) -> str | None:
    return str(node.facts.cpus)


GPU_COUNT = Property(
    "gpu count",
    "gpu",
    _gpus,
    "as many GPUs as the profile or the peers",
    f"look at nvidia-smi or amd-smi and at dmesg there; {SAME_STATE}",
)
IMAGE = Property(
    "image",
    "engine",
    _image,
    remedy=sentence(
        "pull it again: ",
        playbook("setup", "--tags", "container", "-e", "container_pull=always"),
        "; if it is loaded or built there, remove it first (docker rmi)",
    ),
)
PROPERTIES = (
    GPU_COUNT,
    Property(
        "image file",
        "container",
        _image_file,
        "the same build of the Apptainer image",
        sentence("copy it again: ", playbook("setup", "--tags", "apptainer")),
    ),
    Property("gpu model", "gpu", _gpu_model, "the same GPUs"),
    Property("driver", "gpu", _driver, "the same GPU driver", "install the same driver, and restart the node"),
    Property("gpu runtime", "gpu", _runtime, "the same system-wide CUDA or ROCm", "install the same one", "warn"),
    Property(
        "firmware",
        "rdma",
        _firmware,
        "the same firmware on the ranks' adapters",
        "flash the same firmware (mlxfwmanager, niccli), and restart the node",
    ),
    Property("rdma mtu", "rdma", _mtu, "the same MTU on the ranks' ports", "set the same MTU on ports and switches"),
    Property(
        "mtu",
        "interfaces",
        _network_mtu,
        "the same MTU on the networks' interfaces",
        "set the same MTU: ip link set dev NAME mtu N, and on the switches",
    ),
    Property(
        "gdr",
        "rdma",
        _gdr,
        "the same modules for GPUDirect RDMA",
        "load the same module: modprobe nvidia_peermem",
        "warn",
    ),
    Property(
        "torch",
        "versions",
        _version("torch"),
        "the same PyTorch",
        "install the same PyTorch in launch_python's environment",
    ),
    Property(
        "nccl",
        "versions",
        _version("nccl"),
        "the same NCCL",
        "install the same NCCL, or the same PyTorch, which includes one",
    ),
    Property("rccl", "versions", _version("rccl"), "the same system-wide RCCL", "install the same ROCm"),
    Property(
        "python", "versions", _version("python"), "the same Python", "install the same Python for launch_python", "warn"
    ),
    IMAGE,
    Property(
        "engine version", "engine", _engine, "the same container engine", "install the same version of it", "warn"
    ),
    Property("kernel", "kernel", _kernel, "the same kernel", "install the same kernel, and restart the node", "warn"),
    Property(
        "kernel command line",
        "kernel",
        _command_line,
        "the same PCI and memory options on the kernel command line",
        "set the same options in the boot loader, and restart the node",
    ),
    Property(
        "cpus",
        "cpus",
        _cpus,
        "as many CPUs for the ranks",
        "look at the BIOS (SMT, cores), and at the cgroup of the session",
        "warn",
    ),
    Property(
        "governor",
        "memory",
        _governor,
        "the same frequency governor",
        "set the same one: cpupower frequency-set -g performance",
        "warn",
    ),
    Property("open files", "limits", _limit("nofile"), "the same hard limit of open files", HARD_LIMIT, "warn"),
    Property("processes", "limits", _limit("nproc"), "the same hard limit of processes", HARD_LIMIT, "warn"),
)
MEMLOCK = Property("memlock", "limits", _memlock)
# Properties with their own check elsewhere, and a row in the table of differences.
OTHERS = (
    MEMLOCK,
    Property("commit", "code", _code(lambda code: code.commit and code.commit[:12])),
    Property("branch", "code", _code(lambda code: code.branch)),
    Property("changes", "code", _changes),
)
