# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel says of this boot, and how it was booted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._cluster.node import Node
from .._findings.finding import Status
from .model import Cluster, Seen, fine, skip, unknown

if TYPE_CHECKING:  # of a launch's plan no node was asked how it is
    from ansible_collections.muster.train.plugins.module_utils._records.health import KernelError

# Severities as in NVIDIA's r590 table (docs.nvidia.com/deploy/xid-errors) by aws-samples/awsome-distributed-training,
# 2.gpu-cluster-healthcheck: what is not named isolates the node.
OF_PROGRAMS = frozenset({13, 31, 94, 126})
HARMLESS = frozenset({43, 63, 92, 121})
RESTART = frozenset({79, 151, 168})
RESET = frozenset({48, 64, 74, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158})
NEVER_SEEN = "read it as a user of the group systemd-journal or adm, or allow it: sysctl kernel.dmesg_restrict=0"


def kernel_log(node: Node, cluster: Cluster) -> Iterator[Seen]:
    """Find what the kernel says of GPUs and adapters in this boot."""
    log = node.facts.kernel_log
    if log is None or not log.readable:
        yield unknown(
            f"the kernel's log cannot be read{f': {log.why}' if log and log.why else ''}", "kernel_log", NEVER_SEEN
        )
        return
    kinds: dict[tuple[str, int | None, str | None], list[KernelError]] = {}
    for error in log.errors:
        if not (error.kind == "xid" and error.code in HARMLESS):
            kinds.setdefault((error.kind, error.code, error.device), []).append(error)
    for (kind, code, device), errors in kinds.items():
        status, remedy = _judged(kind, code)
        count = sum(error.count for error in errors)
        times = f", {count} times" if count > 1 else ""
        name = f"{kind.upper()}{f' {code}' if code is not None else ''} of {device or 'a device'}{times}"
        yield Seen(
            status,
            f"{name}: {errors[-1].text[:120]}",
            "no such line in this boot's log",
            log.source or "the kernel's log",
            remedy,
        )
    if not kinds:
        lost = " (its beginning is lost)" if log.complete is False else ""
        yield fine(f"no error of a GPU or an adapter in this boot's log{lost}", log.source or "the kernel's log")


def _judged(kind: str, code: int | None) -> tuple[Status, str]:
    if kind == "xid" and code in OF_PROGRAMS:
        return "warn", "a program's own fault as a rule: look at the run of that time"
    if kind == "xid" and code in RESTART:
        return "fail", "restart the node; again: have the GPU replaced"
    if kind == "xid" and code in RESET:
        return "fail", "reset the GPU (nvidia-smi --gpu-reset) or restart the node; again: have it replaced"
    if kind == "mlx5":
        return "warn", "look at slot power, cable and temperature of the adapter (mlxlink), and at its firmware"
    return "fail", "take the node out of the group nodes, and have the GPU looked at (nvidia-bug-report, amd-smi ras)"


def iommu(node: Node, cluster: Cluster) -> Seen:
    """Find an IOMMU that translates what GPUs and adapters send each other."""
    kernel = node.facts.kernel
    if node.gpu is not None and node.rdma is not None and not (node.gpu.count and node.rdma.hcas):
        return skip("there are no GPUs beside RDMA devices")
    if kernel is None or kernel.command_line is None:
        return unknown("the kernel's command line cannot be read", "kernel")
    words = set(kernel.command_line)
    on = words & {"intel_iommu=on", "amd_iommu=on", "iommu=force", "intel_iommu=on,sm_on"}
    if on and not words & {"iommu=pt", "iommu.passthrough=1"}:
        return Seen(
            "fail",
            f"{' '.join(sorted(on))} without iommu=pt",
            "iommu=pt, or no IOMMU: traffic between GPUs and adapters goes through the CPU otherwise",
            "NCCL's troubleshooting, ROCm's system settings",
            "add iommu=pt to the kernel's command line, and restart the node",
        )
    return fine(
        " ".join(sorted(words & {"iommu=pt", "iommu.passthrough=1"} | on)) or "no word about it", "/proc/cmdline"
    )
