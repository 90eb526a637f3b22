# SPDX-License-Identifier: GPL-3.0-or-later
"""The devices of a node's container: those that exist, and no others."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

NVIDIA, AMD, NONE, AUTO = "nvidia", "amd", "none", "auto"
KFD, DRI, INFINIBAND = "/dev/kfd", "/dev/dri/renderD", "/dev/infiniband/"
CDI_ALL = "nvidia.com/gpu=all"
# Not for ranks: a process that opens one makes the node a subnet manager.
SUBNET_MANAGER = f"{INFINIBAND}issm"


def vendor_of(gpus: str, gpu: Gpu | None) -> str:
    """Return the vendor of the container's GPUs: container_gpus, or by default the node's."""
    if gpus != AUTO:
        return gpus
    if gpu is None:
        raise ValueError("the node's GPUs are unknown; set container_gpus to nvidia, amd or none")
    return gpu.vendor or NONE


def requests_for(vendor: str, request: str, facts: NodeFacts) -> dict[str, Any]:
    """Return the keys of the service that give it its devices."""
    files = facts.devices
    if files is None:
        raise ValueError("the node's device files are unknown")
    paths = [file.path for file in files]
    devices = [path for path in paths if path.startswith(INFINIBAND) and not path.startswith(SUBNET_MANAGER)]
    keys: dict[str, Any] = {}
    if vendor == NVIDIA and _by_cdi(request, facts):
        devices.insert(0, CDI_ALL)
    elif vendor == NVIDIA:
        reservation = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
        keys["deploy"] = {"resources": {"reservations": {"devices": [reservation]}}}
    elif vendor == AMD:
        gpus = [file for file in files if file.path == KFD or file.path.startswith(DRI)]
        if KFD not in paths:
            raise ValueError(f"container_gpus is amd, but the node has no {KFD}: is the driver amdgpu loaded?")
        devices = [*(file.path for file in gpus), *devices]
        # As numbers, because the image does not have the node's group names; root is in every image.
        if groups := sorted({file.gid for file in gpus if file.gid}):
            keys["group_add"] = [str(gid) for gid in groups]
    if devices:
        keys["devices"] = [path if path == CDI_ALL else f"{path}:{path}" for path in devices]
    return keys


def _by_cdi(request: str, facts: NodeFacts) -> bool:
    if request != AUTO:
        return request == "cdi"
    return facts.engine is not None and bool(facts.engine.cdi)
