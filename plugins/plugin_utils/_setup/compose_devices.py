# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The devices a node's container gets: what is there, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.health import DeviceFile
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

NVIDIA, AMD, NONE, AUTO = "nvidia", "amd", "none", "auto"
KFD, DRI, INFINIBAND = "/dev/kfd", "/dev/dri/renderD", "/dev/infiniband/"
CDI_ALL = "nvidia.com/gpu=all"
# Not a rank's: whoever opens one makes the node a subnet manager.
SUBNET_MANAGER = f"{INFINIBAND}issm"


def vendor_of(asked: str, gpu: Gpu | None) -> str:
    """Return whose GPUs the container gets: those asked for, or those that the node has."""
    if asked != AUTO:
        return asked
    if gpu is None:
        raise ValueError("what GPUs the node has is not known; set container_gpus to nvidia, amd or none")
    return gpu.vendor or NONE


def requests_for(vendor: str, request: str, facts: NodeFacts) -> dict[str, Any]:
    """Return the keys of the service that give it its devices."""
    files = facts.devices
    if files is None:
        raise ValueError("what device files the node has is not known")
    devices = [each.path for each in files if _of_rdma(each)]
    found: dict[str, Any] = {}
    if vendor == NVIDIA and _by_cdi(request, facts):
        devices.insert(0, CDI_ALL)
    elif vendor == NVIDIA:
        asked = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
        found["deploy"] = {"resources": {"reservations": {"devices": [asked]}}}
    elif vendor == AMD:
        own = [each for each in files if each.path == KFD or each.path.startswith(DRI)]
        if not any(each.path == KFD for each in own):
            raise ValueError(f"container_gpus is amd, but the node has no {KFD}: is the driver amdgpu loaded?")
        devices = [*(each.path for each in own), *devices]
        groups = _groups(own)
        if groups:
            found["group_add"] = groups
    if devices:
        found["devices"] = [path if path == CDI_ALL else f"{path}:{path}" for path in devices]
    return found


def _of_rdma(device: DeviceFile) -> bool:
    return device.path.startswith(INFINIBAND) and not device.path.startswith(SUBNET_MANAGER)


def _by_cdi(request: str, facts: NodeFacts) -> bool:
    if request != AUTO:
        return request == "cdi"
    return facts.engine is not None and bool(facts.engine.cdi)


def _groups(devices: Sequence[DeviceFile]) -> list[str]:
    """Return the groups of the devices as numbers: an image knows the node's groups by no name. Root is everywhere."""
    return [str(gid) for gid in sorted({each.gid for each in devices if each.gid})]
