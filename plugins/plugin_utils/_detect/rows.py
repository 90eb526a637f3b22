# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown of a node, in the terminal and on the page alike.

Sentences and rows of tables, as data: the code that shows them escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gdr, Hca, Port
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from .._findings.finding import Finding
from .._nccl.library import Library
from .._nccl.view import version_text
from .._text.table import names
from . import links
from .detected import DetectedNode
from .groups import Difference
from .topology import chips, memory, rate, short_name

GPU_HEADERS = ("GPU", "name", "memory", "part", "PCI address", "NUMA", "nearest NIC")
PORT_HEADERS = ("HCA", "port", "state", "link", "netdev", "NUMA", "GID", "for a job")
MAKERS = {"nvidia": "NVIDIA", "amd": "AMD"}
RUNTIMES = {"nvidia": "CUDA", "amd": "ROCm"}

NO_GPU = (
    "none that a process here can open; ranks run on the CPU. If there should be GPUs: install the GPU's driver, "
    "or give the container its devices"
)
CLOSED_GPU = (
    "in the machine, but this user can open none; check who may open {devices}, and which devices the container has"
)
NO_HCA = (
    "none under /sys/class/infiniband; nodes use TCP. If there should be some: load the adapter's driver "
    "(lspci shows the adapter), or give the container its devices"
)


def gpu_summary(gpu: Gpu | None) -> str:
    """Return `8 x NVIDIA H100 80GB HBM3, 80 GiB, driver 550.54.15, CUDA 12.4`, or why there is none and what to do."""
    if gpu is None:
        return "not known: could not be read, see the warnings above"
    if not gpu.count and not gpu.devices:
        if gpu.vendor is None:
            return NO_GPU
        return f"{MAKERS[gpu.vendor]}, {CLOSED_GPU.format(devices={'amd': '/dev/kfd'}.get(gpu.vendor, '/dev/nvidia*'))}"
    maker, boards = MAKERS.get(gpu.vendor or "", ""), chips(gpu)
    names = dict.fromkeys(f"{maker} {short_name(device.name)}".strip() for device in gpu.devices)
    sizes = dict.fromkeys(memory(device) for device in gpu.devices)
    parts = [f"{gpu.count} x {' or '.join(names) or maker}", *sizes]
    if len(boards) < len(gpu.devices):
        parts.append(f"partitions of {len(boards)}")
    if gpu.driver_version:
        parts.append(f"driver {gpu.driver_version}")
    if gpu.runtime_version:
        parts.append(f"{RUNTIMES.get(gpu.vendor or '', 'runtime')} {gpu.runtime_version}")
    return ", ".join(part for part in parts if part)


def link_summary(gpu: Gpu | None) -> str:
    """Return the links between the GPUs, empty for fewer than two."""
    return links.summary(gpu) if gpu else ""


def hca_summary(report: DetectedNode) -> str:
    """Return `10, 8 for a job`, or that there is none and what to do."""
    if report.rdma is None:
        return "not known: could not be read, see the warnings above"
    if not report.rdma.hcas:
        return NO_HCA
    return f"{len(report.rdma.hcas)}, {len(report.hcas) or 'none'} for a job"


def gdr_summary(gdr: Gdr) -> str:
    """Return the kernel's support for GPUDirect RDMA."""
    if gdr.loaded is None:
        return "not known"
    support = " and ".join([*gdr.loaded, *(["DMA-BUF"] if gdr.dmabuf else [])])
    unknown = "whether DMA-BUF works is known only to the driver" if gdr.dmabuf is None else ""
    return "; ".join(filter(None, [support or "no kernel module for it", unknown]))


def library_summary(library: Library | None) -> str:
    """Return `NCCL 2.23.4 (source)`."""
    if library is None:
        return "library not known"
    return f"{version_text(library)}{f' ({library.source})' if library.source else ''}"


def gpu_rows(gpu: Gpu | None) -> list[list[str]]:
    """Return a row of GPU_HEADERS for each logical GPU."""
    if gpu is None:
        return []
    nearest = {near.gpu: links.nearest(near) for near in gpu.nearest_nics if near.names}
    return [
        [
            str(device.index),
            short_name(device.name),
            memory(device),
            device.partition or "",
            device.pci_address or "",
            "" if device.numa_node is None else str(device.numa_node),
            nearest.get(device.index, ""),
        ]
        for device in gpu.devices
    ]


def port_rows(report: DetectedNode) -> list[list[str]]:
    """Return a row of PORT_HEADERS for each port, and one for a device without ports."""
    hcas = sorted(report.rdma.hcas, key=lambda hca: natural(hca.name)) if report.rdma else []
    return [row for hca in hcas for row in _of_hca(hca, report)]


def _of_hca(hca: Hca, report: DetectedNode) -> list[list[str]]:
    numa = "" if hca.numa_node is None else str(hca.numa_node)
    if not hca.ports:
        return [[hca.name, "", "no port", "", ", ".join(hca.netdevs), numa, "", "no"]]
    return [
        [
            hca.name,
            str(port.port),
            port_state(port),
            f"{rate(port)} {port.link_layer or ''}".strip(),
            port.netdev or "",
            numa,
            _gid(port, report.gid_index(hca, port)),
            port_use(hca, port, report),
        ]
        for port in hca.ports
    ]


def port_state(port: Port) -> str:
    state = port.state or "not known"
    return f"{state} ({port.phys_state})" if port.state != "ACTIVE" and port.phys_state else state


def _gid(port: Port, index: int | None) -> str:
    """Return the entry that NCCL would use on RoCE; on InfiniBand it is always the first, which is not shown."""
    entry = next((gid for gid in port.gids if gid.index == index), None)
    if entry is None:
        return ""
    return f"{entry.index}: {entry.address or entry.gid}"


def port_use(hca: Hca, port: Port, report: DetectedNode) -> str:
    if not port.usable:
        return f"no: {'; '.join(port.reasons) or 'not usable'}"
    if report.fabric == "tcp":
        return "no: usable, but nodes use TCP"
    return "yes" if hca.name in report.hcas else "no: usable, not chosen"


def environment_lines(environment: Sequence[Variable]) -> list[tuple[str, str]]:
    """Return for each variable the assignment and where it comes from."""
    return [(f"{variable.name}={variable.value}", remark(variable)) for variable in environment]


def remark(variable: Variable) -> str:
    """Return `D2, fabric: reason`."""
    where = ", ".join(filter(None, [variable.rule, variable.origin]))
    return f"{where}: {variable.reason}" if variable.reason else where


def not_set_lines(report: DetectedNode) -> list[tuple[str, str]]:
    """Return for each variable that is deliberately not set its name and the reason."""
    return [(item.name, f"{item.rule}: {item.reason}" if item.rule else item.reason) for item in report.not_set]


def finding_line(finding: Finding) -> str:
    """Return `check: observed; expected … (source); remedy`, without the node."""
    expected = f"; expected {finding.expected}" if finding.expected else ""
    return f"{finding.check}: {finding.observed}{expected} ({finding.source}); {finding.remedy}"


def difference_line(difference: Difference) -> str:
    """Return `mlx5_3 port 1: DOWN … (node0: ACTIVE …)`."""
    return f"{names(difference.features)}: {difference.value} ({difference.node}: {difference.usual})"
