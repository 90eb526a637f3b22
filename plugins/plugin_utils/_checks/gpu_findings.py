# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the GPUs of one node."""

from __future__ import annotations

import re
from collections import Counter

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu

from .._findings.finding import Finding
from .._findings.remedy import NVLINK
from .gpu_faults import CHECK, find_faults

# NVLink by its number of links, and AMD's xGMI.
_FABRIC = re.compile(r"NV[0-9]+|XGMI", re.ASCII)
# A bridge joins two GPUs and leaves others out by design; from this many on they are a fabric.
FABRIC_MEMBERS = 3


def find_gpus(node: str, gpu: Gpu) -> list[Finding]:
    """Return all findings about the GPUs of a node."""
    # One that is about all GPUs explains why some are not listed.
    lacking = [] if any(fault.is_about_all for fault in gpu.faults) else missing(node, gpu)
    return [*find_faults(node, gpu), *lacking, *off_fabric(node, gpu), *unlike(node, gpu)]


def off_fabric(node: str, gpu: Gpu) -> list[Finding]:
    """Find the GPUs that reach the others over PCIe, or over fewer NVLinks, while these have a fabric among them."""
    words = {(link.a, link.b): link.relation for link in gpu.links}
    words |= {(b, a): word for (a, b), word in words.items()}
    peers: dict[int, dict[int, str]] = {}
    for (a, b), word in words.items():
        peers.setdefault(a, {})[b] = word
    linked = {a: [b for b, word in others.items() if _FABRIC.fullmatch(word)] for a, others in peers.items()}
    members = {a for a, others in linked.items() if len(others) >= FABRIC_MEMBERS - 1}
    if len(members) < FABRIC_MEMBERS:
        return []
    findings = []
    for index in sorted(peers):
        others = peers[index]
        # A truncated table proves nothing.
        if not linked[index] and members <= {index, *others}:
            links = ", ".join(sorted(set(others.values())))
            findings.append(_off(node, gpu, index, f"is {links} to the others, which have {_usual(words)} among them"))
    return findings or _fewer_links(node, gpu, peers)


def _fewer_links(node: str, gpu: Gpu, peers: dict[int, dict[int, str]]) -> list[Finding]:
    """Find the GPUs with fewer NVLinks to every other than these have, where these all have the same number."""
    counts = {(link.a, link.b): link.count for link in gpu.links}
    usual = max((count for count in counts.values() if count), default=0)
    best = {a: max((counts.get((min(a, b), max(a, b))) or 0 for b in peers[a]), default=0) for a in peers}
    whole = {a for a, count in best.items() if count == usual}
    same = all(counts.get((a, b)) == usual for a in whole for b in whole if a < b)
    if not same or len(whole) < FABRIC_MEMBERS:
        return []
    return [
        _off(
            node, gpu, index, f"has at most {best[index]} NVLinks to another GPU; the others have {usual} between them"
        )
        for index in sorted(set(peers) - whole)
        if best[index]
    ]


def _usual(words: dict[tuple[int, int], str]) -> str:
    fabric = Counter(word for word in words.values() if _FABRIC.fullmatch(word))
    return fabric.most_common(1)[0][0]


def _off(node: str, gpu: Gpu, index: int, observed: str) -> Finding:
    device = next((device for device in gpu.devices if device.index == index), None)
    where = f" ({device.pci_address})" if device is not None and device.pci_address else ""
    amd = ("gpu_facts", "check dmesg for xgmi errors; reset or replace the GPU")
    source, remedy = ("nvidia-smi topo -m", NVLINK) if gpu.vendor == "nvidia" else amd
    expected = "the same fabric between all GPUs of a node"
    return Finding(CHECK, node, "warn", f"GPU {index}{where} {observed}", expected, source, remedy)


def unlike(node: str, gpu: Gpu) -> list[Finding]:
    """Find GPUs of one node whose name or memory is not that of the others (partitions: of those of the same kind)."""
    whole = [device for device in gpu.devices if device.partition is None]
    for part, values in (
        ("name", {device.index: device.name for device in whole}),
        ("memory", {device.index: device.memory_mib and f"{device.memory_mib} MiB" for device in whole}),
    ):
        kinds: dict[str, list[str]] = {}
        for index, value in values.items():
            if value:
                kinds.setdefault(value, []).append(str(index))
        if len(kinds) > 1:  # a different name usually implies different memory: one finding is enough
            texts = "; ".join(f"{kind} (GPU {', '.join(indexes)})" for kind, indexes in kinds.items())
            observed = f"GPUs of different {part}: {texts}"
            expected = "GPUs of one kind (the slowest and smallest sets the pace)"
            remedy = "choose the GPUs with CUDA_VISIBLE_DEVICES, or leave the node out"
            return [Finding(CHECK, node, "warn", observed, expected, "gpu_facts", remedy)]
    return []


def missing(node: str, gpu: Gpu) -> list[Finding]:
    """Find a node whose driver lists fewer GPUs than there are device nodes: one has fallen off the bus."""
    if gpu.vendor != "nvidia" or not gpu.devices:
        return []
    # Partitions of one GPU share its address.
    whole = {device.pci_address or device.index for device in gpu.devices}
    if len(whole) >= gpu.count:
        return []
    observed = f"{gpu.count} GPUs can be opened, but the driver lists {len(whole)}"
    remedy = "check dmesg for Xid 79 (fallen off the bus), and reset the GPU or restart the node"
    return [Finding(CHECK, node, "fail", observed, "every GPU in nvidia-smi", "/dev/nvidia*, nvidia-smi", remedy)]
