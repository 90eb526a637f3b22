# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the GPUs well?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .._cluster.node import Node
from .._text.table import names
from .gpu_findings import find_gpus
from .model import Cluster, Looks, Seen, completed, fine, seen_of, skip, unknown

if TYPE_CHECKING:  # of a launch's plan no node was asked how it is
    from ansible_collections.muster.train.plugins.module_utils._records.health import GpuState

RESET = "reset it (nvidia-smi --gpu-reset -i N) or restart the node; again: have it replaced"
NO_GPU = "there is no GPU"


def gpus(cluster: Cluster) -> Looks:
    """Find GPUs that fell off the bus, are not on the fabric of the others, or are of another kind."""
    nodes = cluster.nodes.values()
    found = [(node.name, seen_of(each)) for node in nodes if node.gpu for each in find_gpus(node.name, node.gpu)]
    return completed(cluster, found, _gpus)


def _gpus(node: Node) -> Seen:
    if node.gpu is None:
        return unknown("the GPUs cannot be seen", "gpu")
    return fine(f"{node.gpu.count} of one kind", "gpu_facts") if node.gpu.count else skip(NO_GPU)


def _each(node: Node, what: str, told: Callable[[GpuState], bool], bad: Callable[[GpuState], str | None]) -> str | Seen:
    """Return what is bad of the GPUs in words, or what to say where nothing is."""
    if node.gpu is not None and not node.gpu.count:
        return skip(NO_GPU)
    health = node.facts.gpu_health
    if health is None or health.devices is None:
        return unknown(f"nobody could look at {what}{f': {health.why}' if health and health.why else ''}", "gpu_health")
    known = [device for device in health.devices if told(device)]
    if not known:
        return skip(f"no GPU here tells of {what}")
    faults: dict[str, list[str]] = {}
    for device in known:
        fault = bad(device)
        if fault:
            faults.setdefault(fault, []).append(str(device.index))
    if not faults:
        return fine(
            f"{what} is well on {len(known)} GPUs",
            "nvidia-smi -q" if node.gpu is None or node.gpu.vendor != "amd" else "amd-smi, sysfs",
        )
    return "; ".join(f"GPU {names(those)}: {fault}" for fault, those in faults.items())


def ecc(node: Node, cluster: Cluster) -> Seen:
    """Find GPUs without ECC while others have it, and uncorrected errors."""

    def bad(device: GpuState) -> str | None:
        if device.ecc_uncorrected:
            return f"{device.ecc_uncorrected} uncorrected errors"
        if device.ecc_mode == "disabled" and _others_have_ecc(cluster):
            return "ECC is disabled"
        return "ECC changes at the next restart" if device.ecc_pending not in (None, device.ecc_mode) else None

    said = _each(node, "ECC", lambda each: each.ecc_mode is not None or each.ecc_uncorrected is not None, bad)
    if isinstance(said, Seen):
        return said
    return Seen("fail", said, "ECC as on the peers, 0 uncorrected errors", "nvidia-smi -q -d ECC", RESET)


def _others_have_ecc(cluster: Cluster) -> bool:
    return any(
        device.ecc_mode == "enabled"
        for node in cluster.nodes.values()
        for device in (node.facts.gpu_health.devices if node.facts.gpu_health else None) or ()
    )


def memory_rows(node: Node, cluster: Cluster) -> Seen:
    """Find rows of memory that were replaced or could not be; AMD's bad pages."""

    def bad(device: GpuState) -> str | None:
        if device.remap_failure:
            return "a row could not be remapped"
        if device.remap_pending:
            return "a row remap is pending"
        return f"{device.bad_pages} bad pages" if device.bad_pages else None

    said = _each(
        node, "memory", lambda each: (each.remap_pending, each.remap_failure, each.bad_pages) != (None,) * 3, bad
    )
    if isinstance(said, Seen):
        return said
    source = "nvidia-smi -q -d ROW_REMAPPER, amd-smi bad-pages"
    return Seen("fail", said, "no pending or failed row remap, no bad page", source, RESET)


def nvlink(node: Node, cluster: Cluster) -> Seen:
    """Find NVLinks that are down."""
    said = _each(
        node,
        "NVLink",
        lambda each: each.nvlinks_down is not None,
        lambda each: f"NVLink {', '.join(map(str, each.nvlinks_down or ()))} down" if each.nvlinks_down else None,
    )
    if isinstance(said, Seen):
        return said
    remedy = "look at the fabric manager's log and dmesg (Xid 74); reset the GPU or restart the node"
    return Seen("fail", said, "every NVLink has its peer", "nvidia-smi nvlink -s", remedy)


def throttle(node: Node, cluster: Cluster) -> Seen:
    """Find GPUs that run slower for heat or lack of power."""
    said = _each(
        node,
        "the clock",
        lambda each: each.throttle is not None,
        lambda each: f"slowed by {', '.join(each.throttle or ())}" if each.throttle else None,
    )
    if isinstance(said, Seen):
        return said
    remedy = "look at fans, inlet temperature, power supplies and cap (nvidia-smi -q -d PERFORMANCE)"
    return Seen("fail", said, "no reason for a slower clock", "nvidia-smi -q -d PERFORMANCE", remedy)


def trouble(node: Node, cluster: Cluster) -> Seen:
    """Find GPUs of which the tool says that they need something."""
    said = _each(node, "the state", lambda each: True, lambda each: each.trouble or None)
    if isinstance(said, Seen):
        return said
    return Seen("fail", said, "a GPU without complaint", "nvidia-smi -q", RESET)


def persistence(node: Node, cluster: Cluster) -> Seen:
    """Find GPUs whose driver unloads when nobody uses them, which costs seconds and forgets counters."""
    said = _each(
        node,
        "persistence",
        lambda each: each.persistence is not None,
        lambda each: "persistence mode is off" if each.persistence is False else None,
    )
    if isinstance(said, Seen):
        return said
    remedy = "systemctl enable --now nvidia-persistenced"
    return Seen("fail", said, "the driver stays loaded", "nvidia-smi -q", remedy)


def fabric_manager(node: Node, cluster: Cluster) -> Seen:
    """Find nodes with NVSwitches whose fabric manager does not run."""
    health = node.facts.gpu_health
    if node.gpu is not None and (not node.gpu.count or node.gpu.vendor == "amd"):
        return skip("there is no NVIDIA GPU")
    manager = health.fabric_manager if health else None
    if manager is None or manager.needed is None:
        return unknown("nobody could look for NVSwitches", "gpu_health")
    if not manager.needed:
        return skip("there is no NVSwitch")
    if manager.active is None:
        return unknown("systemd does not tell of nvidia-fabricmanager", "gpu_health")
    if manager.active:
        return fine("nvidia-fabricmanager is active", "systemd")
    return Seen(
        "fail",
        f"nvidia-fabricmanager is {manager.state or 'not active'}",
        "active: there are NVSwitches",
        "systemd",
        "systemctl start nvidia-fabricmanager there (of the driver's version; journalctl -u nvidia-fabricmanager)",
    )


def processes(node: Node, cluster: Cluster) -> Seen:
    """Find processes of others on the GPUs."""
    if node.gpu is not None and not node.gpu.count:
        return skip(NO_GPU)
    own = node.facts.processes
    if own is None or own.gpu is None:
        return unknown("nobody could see who uses the GPUs", "processes")
    foreign = [each for each in own.gpu if not each.run_id and not _allowed(each.command, cluster)]
    if not foreign:
        return fine("nobody else uses the GPUs", "/proc/PID/fd")
    seen = "; ".join(sorted({f"pid {each.pid} {each.command or 'of uid ' + str(each.uid)}" for each in foreign})[:5])
    return Seen(
        "fail",
        f"processes that are no run of ours use GPUs: {seen}",
        "none, but those of preflight_allowed_processes",
        "/proc/PID/fd",
        "end them, wait for them, or allow them in preflight_allowed_processes",
    )


def _allowed(command: str | None, cluster: Cluster) -> bool:
    word = (command or "").split(" ")[0].rpartition("/")[2]
    # The kernel cuts a command's name at 15 signs.
    return any(word in (name, name[:15]) for name in cluster.allowed_processes)


def pcie(node: Node, cluster: Cluster) -> Iterator[Seen]:
    """Find GPUs and adapters with fewer lanes than they can have; idle GPUs lower the generation."""
    rdma, health = node.rdma, node.facts.gpu_health
    faults, good = [], 0
    for device in (health.devices if health else None) or ():
        if device.link_width and device.link_width_max:
            good += 1
            if device.link_width < device.link_width_max:
                faults.append(f"GPU {device.index} x{device.link_width} of x{device.link_width_max}")
    for hca in rdma.hcas if rdma else ():
        if hca.physfn or not hca.link_width or not hca.link_width_max:
            continue
        good += 1
        if hca.link_width < hca.link_width_max:
            faults.append(f"{hca.name} x{hca.link_width} of x{hca.link_width_max}")
        elif hca.link_gen and hca.link_gen_max and hca.link_gen < hca.link_gen_max:
            faults.append(f"{hca.name} generation {hca.link_gen} of {hca.link_gen_max}")
    if faults:
        remedy = "reseat the card or its riser, look at the BIOS' slot settings, then restart the node"
        yield Seen(
            "fail",
            "; ".join(faults),
            "every link as wide and fast as the device can",
            "sysfs current_link_width, max_link_width",
            remedy,
        )
    elif good:
        yield fine(f"{good} links are as wide as can be", "sysfs")
    elif (node.gpu and node.gpu.count) or (rdma and rdma.hcas):
        yield skip("no device here tells the width of its link")
    else:
        yield skip("there is neither GPU nor RDMA device")
