# SPDX-License-Identifier: GPL-3.0-or-later
"""Does anything else use the GPUs of the ranks?"""

from __future__ import annotations

from collections import Counter

from ansible_collections.muster.train.plugins.module_utils._records.gpu import GpuProcess

from .._cluster.node import Node
from .._cluster.visible import visible
from .model import NO_GPU, Cluster, Outcome, failed, passed, skipped, unavailable

CHOSEN = "CUDA_VISIBLE_DEVICES"
# AMD has one device for all GPUs, so a process is not assigned to one.
KFD = "/sys/class/kfd"


def gpu_processes(node: Node, cluster: Cluster) -> Outcome:
    """Find processes on the GPUs of the ranks that no other check names."""
    if node.gpu is not None and not node.gpu.count:
        return skipped(NO_GPU)
    using = node.facts.gpu_processes
    if using is None:
        return unavailable("the processes on the GPUs could not be listed", "gpu_processes")
    foreign = [process for process in using if _is_foreign(process, node, cluster)]
    source = KFD if node.gpu and node.gpu.vendor == "amd" else "nvidia-smi"
    if not foreign:
        return passed("no other process uses the GPUs", source)
    counts = Counter(_description(process, node) for process in {process.pid: process for process in foreign}.values())
    texts = [f"{count} process{'es' * (count != 1)} of {description}" for description, count in sorted(counts.items())]
    other_gpus = "" if source == KFD else f"choose other GPUs with {CHOSEN} in launch_node_env, "
    return failed(
        f"other processes use the GPUs of the ranks: {', '.join([*texts[:5], *(['…'] if len(texts) > 5 else [])])}",
        "none, except those of preflight_allowed_processes",
        source,
        f"wait until they end, {other_gpus}or add the programs to preflight_allowed_processes",
    )


def _is_foreign(process: GpuProcess, node: Node, cluster: Cluster) -> bool:
    facts = node.facts
    if process.device in _left_out(node, cluster):
        return False
    if process.run_id:
        # The checks `slot` and, where all processes were listed, `leftovers` name those.
        listed = facts.processes is not None and process.uid in (None, facts.user.uid)
        return not listed and (facts.holder is None or process.run_id != facts.holder.run_id)
    program = (process.command or "").split(" ")[0].rpartition("/")[2]
    # The kernel cuts a command's name at 15 characters.
    return not any(program in (name, name[:15]) for name in cluster.checks.allowed_processes)


def _left_out(node: Node, cluster: Cluster) -> set[str | None]:
    """Return the PCI addresses of the GPUs that users certainly chose for no rank."""
    values = cluster.environment(node)
    if values.get(CHOSEN) is None or node.gpu is None or not node.gpu.devices:
        return set()
    chosen = {device.pci_address for device in visible(node.gpu, values)}
    return set() if None in chosen or not chosen else {device.pci_address for device in node.gpu.devices} - chosen


def _description(process: GpuProcess, node: Node) -> str:
    """Describe a process alike on all nodes: without its PID."""
    if process.run_id:
        return f"run {process.run_id}"
    user = "this user" if process.uid == node.facts.user.uid else f"uid {process.uid}"
    return f"{user} ({process.command or 'unknown program'})" if process.uid is not None else "an unknown user"
