# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the GPUs healthy?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu, GpuFault

from .._cluster.node import Node
from .._cluster.visible import CUDA, HIP, ROCR, visible
from .._findings.remedy import NVLINK, RESET_GPU
from .._text.table import names
from .gpu_findings import find_gpus
from .model import NO_GPU, Cluster, NodeJudge, Outcome, Outcomes, completed, failed, passed, skipped, unavailable

if TYPE_CHECKING:  # the plan of a launch gathers no health
    from ansible_collections.muster.train.plugins.module_utils._records.health import GpuState


def gpus(cluster: Cluster) -> Outcomes:
    """Find GPUs that fell off the bus, are not on the fabric of the others, or are of another kind."""
    nodes = [node for node in cluster.nodes.values() if node.gpu]
    findings = [finding for node in nodes for finding in find_gpus(node.name, _of_ranks(node, cluster))]
    return completed(cluster, [(finding.node, Outcome.of(finding)) for finding in findings], _gpus)


def _of_ranks(node: Node, cluster: Cluster) -> Gpu:
    """Return the node's GPUs, without the faults that do not concern its ranks.

    A container without a GPU was given none. Ranks to which no GPU is visible run on CPUs; a list of the visible ones
    may keep ranks off a broken one.
    """
    gpu = node.gpu or Gpu(None, 0)
    values = cluster.environment(node)
    devices = visible(gpu, values)
    contained = not gpu.count and node.facts.container is not None and node.facts.container.kind is not None
    if not gpu.faults or contained or (gpu.count and not devices) or (not gpu.count and values.get(CUDA) in ("", "-1")):
        return dataclasses.replace(gpu, faults=[])
    # Ranks without a list may need more GPUs than the driver has.
    is_chosen = len(devices) < len(gpu.devices) or any(values.get(name) for name in (CUDA, HIP, ROCR))
    places = {_place(device.pci_address) for device in devices}
    return dataclasses.replace(
        gpu, faults=[fault for fault in gpu.faults if not (devices and is_chosen and _is_left_out(fault, places))]
    )


def _is_left_out(fault: GpuFault, places: set[str | None]) -> bool:
    """Return whether the GPU is none of those at these places, all of which have to be known."""
    return not fault.is_about_all and not places & {None, _place(fault.device)}


def _place(address: str | None) -> str | None:
    """Return an address without its function, which is the partition of a GPU of AMD."""
    return address.rpartition(".")[0] if address else None


def _gpus(node: Node) -> Outcome:
    if node.gpu is None:
        return unavailable("the GPUs could not be read", "gpu")
    return passed(f"{node.gpu.count} of one kind", "gpu_facts") if node.gpu.count else skipped(NO_GPU)


def _health_check(
    subject: str,
    known: Callable[[GpuState], bool],
    fault_of: Callable[[GpuState, Cluster], str | None],
    expected: str,
    source: str,
    remedy: str,
) -> NodeJudge:
    """Make a check of the vendor tool's report on single GPUs: `fault_of` is called for those that are `known`."""

    def judge(node: Node, cluster: Cluster) -> Outcome:
        if node.gpu is not None and not node.gpu.count:
            return skipped(NO_GPU)
        health = node.facts.gpu_health
        if health is None or health.devices is None:
            return unavailable(f"{subject} could not be read", "gpu_health", health.why if health else None)
        devices = [device for device in health.devices if known(device)]
        if not devices:
            return skipped(f"no GPU here reports {subject}")
        faults: dict[str, list[str]] = {}
        for device in devices:
            if fault := fault_of(device, cluster):
                faults.setdefault(fault, []).append(str(device.index))
        if faults:
            observed = "; ".join(f"GPU {names(indexes)}: {fault}" for fault, indexes in faults.items())
            return failed(observed, expected, source, remedy)
        amd = node.gpu is not None and node.gpu.vendor == "amd"
        return passed(f"{subject} is healthy on {len(devices)} GPUs", "amd-smi, sysfs" if amd else "nvidia-smi -q")

    return judge


def _ecc_fault(device: GpuState, cluster: Cluster) -> str | None:
    if device.ecc_uncorrected:
        return f"{device.ecc_uncorrected} uncorrected errors"
    if device.ecc_mode == "disabled" and _others_have_ecc(cluster):
        return "ECC is disabled"
    return "ECC changes at the next restart" if device.ecc_pending not in (None, device.ecc_mode) else None


def _others_have_ecc(cluster: Cluster) -> bool:
    return any(
        device.ecc_mode == "enabled"
        for node in cluster.nodes.values()
        for device in (node.facts.gpu_health.devices if node.facts.gpu_health else None) or ()
    )


def _memory_fault(device: GpuState, _cluster: Cluster) -> str | None:
    if device.remap_failure:
        return "a row could not be remapped"
    if device.remap_pending:
        return "a row remap is pending"
    return f"{device.bad_pages} bad pages" if device.bad_pages else None


ecc = _health_check(
    "ECC",
    lambda gpu: gpu.ecc_mode is not None or gpu.ecc_uncorrected is not None,
    _ecc_fault,
    "ECC as on the peers, 0 uncorrected errors",
    "nvidia-smi -q -d ECC",
    RESET_GPU,
)
memory_rows = _health_check(
    "memory",
    lambda gpu: (gpu.remap_pending, gpu.remap_failure, gpu.bad_pages) != (None,) * 3,
    _memory_fault,
    "no pending or failed row remap, no bad page",
    "nvidia-smi -q -d ROW_REMAPPER, amd-smi bad-pages",
    RESET_GPU,
)
nvlink = _health_check(
    "NVLink",
    lambda gpu: gpu.nvlinks_down is not None,
    lambda gpu, _: f"NVLink {', '.join(map(str, gpu.nvlinks_down))} down" if gpu.nvlinks_down else None,
    "every NVLink up",
    "nvidia-smi nvlink -s",
    NVLINK,
)
throttle = _health_check(
    "the clock",
    lambda gpu: gpu.throttle is not None,
    lambda gpu, _: f"slowed by {', '.join(gpu.throttle)}" if gpu.throttle else None,
    "no reason for a slower clock",
    "nvidia-smi -q -d PERFORMANCE",
    "look at fans, inlet temperature, power supplies and power cap (nvidia-smi -q -d PERFORMANCE)",
)
trouble = _health_check(
    "the state",
    lambda _: True,
    lambda gpu, _: gpu.trouble or None,
    "a GPU that needs no action",
    "nvidia-smi -q",
    RESET_GPU,
)
# Without it the driver unloads when the GPUs are idle, which costs seconds and resets counters.
persistence = _health_check(
    "persistence",
    lambda gpu: gpu.persistence is not None,
    lambda gpu, _: "persistence mode is off" if gpu.persistence is False else None,
    "the driver stays loaded",
    "nvidia-smi -q",
    "systemctl enable --now nvidia-persistenced",
)


def fabric_manager(node: Node, cluster: Cluster) -> Outcome:
    """Find nodes with NVSwitches whose fabric manager does not run."""
    health = node.facts.gpu_health
    if node.gpu is not None and (not node.gpu.count or node.gpu.vendor == "amd"):
        return skipped("there is no NVIDIA GPU")
    manager = health.fabric_manager if health else None
    if manager is None or manager.needed is None:
        return unavailable("it is not known whether there are NVSwitches", "gpu_health")
    if not manager.needed:
        return skipped("there is no NVSwitch")
    if manager.active is None:
        return unavailable("systemd does not report the state of nvidia-fabricmanager", "gpu_health")
    if manager.active:
        return passed("nvidia-fabricmanager is active", "systemd")
    return failed(
        f"nvidia-fabricmanager is {manager.state or 'not active'}",
        "active: there are NVSwitches",
        "systemd",
        "systemctl start nvidia-fabricmanager there (of the driver's version; journalctl -u nvidia-fabricmanager)",
    )


def pcie(node: Node, cluster: Cluster) -> Iterator[Outcome]:
    """Find GPUs and adapters with fewer lanes than they can have; a GPU's generation drops when it is idle."""
    rdma, health = node.rdma, node.facts.gpu_health
    faults, count = [], 0
    for device in (health.devices if health else None) or ():
        if device.link_width and device.link_width_max:
            count += 1
            if device.link_width < device.link_width_max:
                faults.append(f"GPU {device.index} x{device.link_width} of x{device.link_width_max}")
    for hca in rdma.hcas if rdma else ():
        if hca.physfn or not hca.link_width or not hca.link_width_max:
            continue
        count += 1
        if hca.link_width < hca.link_width_max:
            faults.append(f"{hca.name} x{hca.link_width} of x{hca.link_width_max}")
        elif hca.link_gen and hca.link_gen_max and hca.link_gen < hca.link_gen_max:
            faults.append(f"{hca.name} generation {hca.link_gen} of {hca.link_gen_max}")
    if faults:
        yield failed(
            "; ".join(faults),
            "every link as wide and fast as its device allows",
            "sysfs current_link_width, max_link_width",
            "reseat the card or its riser, look at the slot settings in the BIOS, then restart the node",
        )
    elif count:
        yield passed(f"{count} links have their full width", "sysfs")
    elif (node.gpu and node.gpu.count) or (rdma and rdma.hcas):
        yield skipped("no device here reports the width of its link")
    else:
        yield skipped("there is neither GPU nor RDMA device")
