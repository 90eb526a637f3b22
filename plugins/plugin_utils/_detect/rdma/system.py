# SPDX-License-Identifier: GPL-3.0-or-later
"""Sections about the machine: kernel modules, device nodes, locked memory, IOMMU and PCI bridges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.health import DeviceFile

from ..._cluster.policy import ClusterPolicy
from ..._request.memory_limit import say
from ..._text.table import node_names
from ..detected import DetectedNode
from .section import NOT_KNOWN, Section, facts_of, why_no_rdma

# Kernel modules, and what needs them beside those of the adapters.
MODULES: Mapping[str, str] = {
    "ib_uverbs": "every program that uses RDMA",
    "ib_umad": "ibstat, perfquery and a subnet manager",
    "rdma_ucm": "programs that connect by IP address (perftest -R, storage)",
    "nvidia_peermem": "GPUDirect RDMA of NVIDIA without DMA-BUF",
    "nv_peer_mem": "the same, before it was a part of the GPU driver",
    "gdrdrv": "GDRCopy",
}
DRIVERS = ("bnxt_re", "ionic_rdma", "irdma", "mlx5_ib")
DEVICE_NODES = "/dev/infiniband/"
_IOMMU = {
    "identity": "passes addresses through (identity)",
    "DMA": "translates addresses (DMA)",
    "DMA-FQ": "translates addresses (DMA-FQ)",
}
# By Access Control Services.
_BRIDGES = {
    True: "ACS sends traffic between devices through the CPU",
    None: "only root may read their ACS",
    False: "ACS redirects nothing",
}


def modules(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe the kernel, and which of its modules for RDMA are loaded."""
    kernel = facts_of(node).kernel
    if kernel is None:
        return Section("modules", "Kernel modules", absent="the kernel's modules could not be read")
    drivers = [(name, "yes", "the adapters") for name in DRIVERS if name in kernel.modules]
    others = [(name, "yes" if name in kernel.modules else "no", why) for name, why in MODULES.items()]
    rows = [*drivers, *others]
    notes = [f"Kernel {kernel.release or NOT_KNOWN}."]
    if kernel.rdma_netns:
        where = "in every network namespace" if kernel.rdma_netns == "shared" else "in one network namespace each"
        notes.append(f"RDMA devices are {where} ({kernel.rdma_netns}).")
    if kernel.memory_peers:
        notes.append(f"Drivers that offer their memory to RDMA: {', '.join(kernel.memory_peers)}.")
    features = {f"module {name}": loaded for name, loaded, _why in rows} | {"kernel": kernel.release or NOT_KNOWN}
    return Section("modules", "Kernel modules", ("module", "loaded", "needed by"), rows, notes, features)


def device_files(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe the device nodes, and whether this user may open them."""
    files, user = facts_of(node).devices, facts_of(node).user.name
    if files is None:
        return Section("device_files", "Device nodes", absent="the device nodes could not be read")
    rdma_files = [file for file in files if file.path.startswith(DEVICE_NODES)]
    groups: dict[tuple[str, str, str], list[str]] = {}
    for file in rdma_files:
        key = (file.mode or NOT_KNOWN, f"{_id(file.uid)}:{_id(file.gid)}", _access(file))
        groups.setdefault(key, []).append(file.path.removeprefix(DEVICE_NODES))
    rows = [(node_names(names), *key) for key, names in groups.items()]
    features = {f"{file.path} access": _access(file) for file in rdma_files}
    headers = ("file", "mode", "owner", f"access of {user}")
    absent = "" if rdma_files else f"there is nothing in {DEVICE_NODES.rstrip('/')}"
    return Section("device_files", f"Device nodes in {DEVICE_NODES.rstrip('/')}", headers, rows, (), features, absent)


def _id(number: int | None) -> str:
    return "?" if number is None else str(number)


def _access(file: DeviceFile) -> str:
    if file.readable is None or file.writable is None:
        return NOT_KNOWN
    words = [word for word, allowed in (("read", file.readable), ("write", file.writable)) if allowed]
    return " and ".join(words) or "denied"


def memlock(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe how much memory logins, services and containers may lock."""
    facts = facts_of(node)
    limits, engine = facts.memlock, facts.engine
    rows = []
    if limits:
        rows.append((f"this login ({facts.user.name})", say(limits.soft), say(limits.hard)))
    rows += [(name, say(limit.soft), say(limit.hard)) for name, limit in (facts.services or {}).items()]
    if engine and engine.default_memlock is not None:
        rows.append(("a new container", say(engine.default_memlock), ""))
    notes = ["CAP_IPC_LOCK: the kernel does not count what this login locks."] if limits and limits.cap_ipc_lock else []
    if engine and engine.memlock_source:
        notes.append(f"The limit of a new container was read from {engine.memlock_source}.")
    headers = ("of", "soft limit", "hard limit")
    features = {f"locked memory of {row[0]}": row[1] for row in rows}
    return Section(
        "memlock", "Locked memory", headers, rows, notes, features, "" if rows else "the limits could not be read"
    )


def isolation(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe the IOMMU and the Access Control Services of the PCI bridges above the adapters."""
    title, health, kernel = "IOMMU and ACS", facts_of(node).rdma_health, facts_of(node).kernel
    if health is None:
        return Section("isolation", title, absent="could not be read")
    domains = {address: _IOMMU.get(kind, kind) for address, kind in health.iommu.items()}
    bridges = {bridge: _BRIDGES[redirects] for bridge, redirects in health.acs_redirects.items()}
    words = kernel.command_line if kernel else None
    rows = [
        ("kernel command line", NOT_KNOWN if words is None else " ".join(words) or "nothing about PCI or memory"),
        ("IOMMU of the adapters", _counted(domains) or "none"),
        ("PCI bridges above them", _counted(bridges) or "none"),
    ]
    if redirecting := [bridge for bridge, redirects in health.acs_redirects.items() if redirects]:
        rows.append(("of these through the CPU", node_names(redirecting)))
    features = {"IOMMU": _counted(domains), "PCI bridges": _counted(bridges)}
    return Section("isolation", title, (), rows, (), features, why_no_rdma(node))


def _counted(states: Mapping[str, str]) -> str:
    """Return `8: it translates addresses (DMA)` for names with their states."""
    return "; ".join(f"{number}: {state}" for state, number in sorted(Counter(states.values()).items()))
