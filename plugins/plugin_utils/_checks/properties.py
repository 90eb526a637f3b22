# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What should be the same on all nodes, under names people know.

Each property is a check of its own and a row of the table of disagreements.
"""

from __future__ import annotations

from collections.abc import Callable

from .._cluster.node import Node
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
    return joined(str(each.port.mtu) for each in ranks_ports(node, cluster) if each.port.mtu)


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
    names = {name for each in ranks_ports(node, cluster) for name in each.netdevs}
    default = node.facts.net.default_route if node.facts.net else None
    names |= {default.interface} if default else set()
    known = node.facts.interfaces
    return joined(str(known[name].mtu) for name in names if name in known and known[name].mtu)


def _version(name: str) -> Callable[[Node, Cluster], str | None]:
    def of(node: Node, cluster: Cluster) -> str | None:
        if cluster.policy.runtime != "host":
            return ""  # the host's packages are not the container's
        if node.facts.versions is None:
            return None
        value = getattr(node.facts.versions, name)
        return str(value) if value else ""

    return of


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
    if not cluster.policy.image:
        return ""
    if engine is None or not engine.running:
        return None
    image = engine.images.get(cluster.policy.image)
    return min(image.digests, default=image.id or "") if image is not None else ""


def _engine(node: Node, _cluster: Cluster) -> str | None:
    engine = node.facts.engine
    return "" if engine is None or not engine.version else engine.version


def _governor(node: Node, _cluster: Cluster) -> str | None:
    return None if node.facts.memory is None else node.facts.memory.governor or ""


def _cpus(node: Node, _cluster: Cluster) -> str | None:
    return str(node.facts.cpus)


SAME = "bring the nodes to the same state, or leave this one out of the group nodes"
GPU_COUNT = Property(
    "gpu count",
    "gpu",
    "gpus",
    "look at nvidia-smi or amd-smi and at dmesg there; " + SAME,
    _gpus,
    "as many GPUs as the profile or the peers",
)
IMAGE = Property(
    "image",
    "engine",
    "image",
    "pull it anew: ansible-playbook muster.train.setup --tags container -e container_pull=always; where it is loaded "
    "or built, remove it there before (docker rmi)",
    _image,
)
PROPERTIES = (
    GPU_COUNT,
    Property("gpu model", "gpu", "gpu_model", SAME, _gpu_model, "the same GPUs"),
    Property(
        "driver",
        "gpu",
        "driver",
        "install the same driver, and restart the node",
        _driver,
        "the same driver of the GPUs",
    ),
    Property(
        "gpu runtime",
        "gpu",
        "gpu_runtime",
        "install the same CUDA or ROCm",
        _runtime,
        "the same CUDA or ROCm of the system",
        "warn",
    ),
    Property(
        "firmware",
        "rdma",
        "firmware",
        "flash the same firmware (mlxfwmanager, niccli), and restart the node",
        _firmware,
        "the same firmware on the ranks' adapters",
    ),
    Property(
        "rdma mtu",
        "rdma",
        "rdma_mtu",
        "set the same MTU on ports and switches",
        _mtu,
        "the same MTU on the ranks' ports",
    ),
    Property(
        "mtu",
        "interfaces",
        "mtu",
        "set the same MTU: ip link set dev NAME mtu N, and on the switches",
        _network_mtu,
        "the same MTU on the networks' interfaces",
    ),
    Property(
        "gdr",
        "rdma",
        "gdr",
        "load the same module: modprobe nvidia_peermem",
        _gdr,
        "the same modules for GPUDirect RDMA",
        "warn",
    ),
    Property(
        "torch",
        "versions",
        "torch",
        "install the same PyTorch in launch_python's environment",
        _version("torch"),
        "the same PyTorch",
    ),
    Property(
        "nccl",
        "versions",
        "nccl",
        "install the same NCCL, or the same PyTorch, which brings it",
        _version("nccl"),
        "the same NCCL",
    ),
    Property("rccl", "versions", "rccl", "install the same ROCm", _version("rccl"), "the same RCCL of the system"),
    Property(
        "python",
        "versions",
        "python",
        "install the same Python for launch_python",
        _version("python"),
        "the same Python",
        "warn",
    ),
    IMAGE,
    Property(
        "engine version",
        "engine",
        "engine_version",
        "install the same version of the container engine",
        _engine,
        "the same container engine",
        "warn",
    ),
    Property(
        "kernel",
        "kernel",
        "kernel",
        "install the same kernel, and restart the node",
        _kernel,
        "the same kernel, which is what the node was booted with",
        "warn",
    ),
    Property(
        "kernel command line",
        "kernel",
        "kernel_command_line",
        "give the same words to the boot loader, and restart",
        _command_line,
        "the same words about PCI and memory on the kernel's command line",
    ),
    Property(
        "cpus",
        "cpus",
        "cpus",
        "look at the BIOS (SMT, cores), and at the cgroup of the session",
        _cpus,
        "as many CPUs for the ranks",
        "warn",
    ),
    Property(
        "governor",
        "memory",
        "governor",
        "set the same: cpupower frequency-set -g performance",
        _governor,
        "the same frequency governor",
        "warn",
    ),
    Property(
        "open files",
        "limits",
        "open_files",
        "raise the hard limit in /etc/security/limits.d",
        _limit("nofile"),
        "the same hard limit of open files",
        "warn",
    ),
    Property(
        "processes",
        "limits",
        "processes",
        "raise the hard limit in /etc/security/limits.d",
        _limit("nproc"),
        "the same hard limit of processes",
        "warn",
    ),
)
MEMLOCK = Property("memlock", "limits", "memlock", "ansible-playbook muster.train.setup", _memlock)
