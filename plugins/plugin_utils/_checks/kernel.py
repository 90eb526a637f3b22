# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel logged in this boot, and how it was booted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._cluster.node import Node
from .._findings.finding import Status
from .._findings.remedy import NVLINK, RESET_GPU
from .model import Cluster, Outcome, failed, passed, skipped, unavailable

if TYPE_CHECKING:  # the plan of a launch gathers no health
    from ansible_collections.muster.train.plugins.module_utils._records.health import KernelError

# Severities as in NVIDIA's r590 table (docs.nvidia.com/deploy/xid-errors) by aws-samples/awsome-distributed-training,
# 2.gpu-cluster-healthcheck: a code that is in none of these sets isolates the node.
OF_PROGRAMS = frozenset({13, 31, 94, 126})
HARMLESS = frozenset({43, 63, 92, 121})
RESTART = frozenset({79, 151, 168})
RESET = frozenset({48, 64, 74, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158})
RESTART_NODE = "restart the node; if it happens again, replace the GPU"
OF_KIND: dict[str, tuple[Status, str]] = {
    "remap": ("warn", f"a row of memory waits for its replacement: {RESET_GPU}"),
    "bus": ("fail", RESTART_NODE),
    "init": (
        "fail",
        "the driver could not start the GPU: power the node off and on; if it happens again, replace the GPU",
    ),
    "gsp": ("fail", RESET_GPU),
    "nvlink": ("fail", NVLINK),
    "reset failed": ("fail", RESTART_NODE),
    "ring": ("warn", "usually caused by a program: check the run that was active at the time, and dmesg for a reset"),
}
# What users call the kinds that are not named after an abbreviation.
NAMES = {
    "remap": "pending row remap",
    "bus": "loss from the bus",
    "init": "failed start",
    "gsp": "GSP error",
    "nvlink": "NVLink error",
    "reset failed": "failed reset",
    "ring": "ring timeout",
}
AFTER_RESET = "nothing, unless it happens again: the GPU was reset after it"
READ_LOG = "read it as a user of the group systemd-journal or adm, or allow it: sysctl kernel.dmesg_restrict=0"


def kernel_log(node: Node, cluster: Cluster) -> Iterator[Outcome]:
    """Find errors of GPUs and adapters that the kernel logged in this boot."""
    log = node.facts.kernel_log
    if log is None or not log.readable:
        why = log.why if log else None
        yield unavailable("the kernel's log could not be read", "kernel_log", why, remedy=READ_LOG)
        return
    source = log.source or "the kernel's log"
    kinds: dict[tuple[str, int | None, str | None], list[KernelError]] = {}
    for error in log.errors:
        done = error.kind == "remap" and error.reset_s is not None
        if not done and not (error.kind == "xid" and error.code in HARMLESS):
            kinds.setdefault((error.kind, error.code, error.device), []).append(error)
    for (kind, code, device), errors in kinds.items():
        last = errors[-1]
        status, remedy = _judged(kind, code)
        count = sum(error.count for error in errors)
        times = f", {count} times" if count > 1 else ""
        time = f", {'last ' * (count > 1)}{_after_boot(last.monotonic_s)}" if last.monotonic_s is not None else ""
        title = NAMES.get(kind, kind.upper()) + (f" {code}" if code is not None else "")
        name = f"{title} of {device or 'a device'}{times}{time}"
        if last.reset_s is not None and status == "fail":
            status, remedy = "warn", AFTER_RESET
            name += f", reset {_after_boot(last.reset_s)}"
        yield Outcome(status, f"{name}: {last.text[:120]}", "no such message since boot", source, remedy)
    if not kinds:
        lost = " (its beginning is lost)" if log.complete is False else ""
        yield passed(f"no error of a GPU or an adapter in this boot's log{lost}", source)


def _after_boot(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min after boot" if hours else f"{minutes} min {rest} s after boot"


def _judged(kind: str, code: int | None) -> tuple[Status, str]:
    if kind == "xid" and code in OF_PROGRAMS:
        return "warn", "usually caused by a program: check the run that was active at the time"
    if kind == "xid" and code in RESTART:
        return "fail", RESTART_NODE
    if kind == "xid" and code in RESET:
        return "fail", RESET_GPU
    if kind in OF_KIND:
        return OF_KIND[kind]
    if kind == "mlx5":
        return "warn", "look at slot power, cable and temperature of the adapter (mlxlink), and at its firmware"
    return "fail", "remove the node from the group nodes, and have the GPU examined (nvidia-bug-report, amd-smi ras)"


def iommu(node: Node, cluster: Cluster) -> Outcome:
    """Find an IOMMU that translates what GPUs and adapters send each other."""
    kernel = node.facts.kernel
    if node.gpu is not None and node.rdma is not None and not (node.gpu.count and node.rdma.hcas):
        return skipped("the node does not have both GPUs and RDMA devices")
    if kernel is None or kernel.command_line is None:
        return unavailable("the kernel's command line could not be read", "kernel")
    words = set(kernel.command_line)
    passthrough = words & {"iommu=pt", "iommu.passthrough=1"}
    on = words & {"intel_iommu=on", "amd_iommu=on", "iommu=force", "intel_iommu=on,sm_on"}
    if on and not passthrough:
        return failed(
            f"{' '.join(sorted(on))} without iommu=pt",
            "iommu=pt, or no IOMMU: traffic between GPUs and adapters goes through the CPU otherwise",
            "NCCL's troubleshooting, ROCm's system settings",
            "add iommu=pt to the kernel's command line, and restart the node",
        )
    return passed(" ".join(sorted(passthrough | on)) or "no IOMMU option", "/proc/cmdline")
