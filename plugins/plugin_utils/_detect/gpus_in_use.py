# SPDX-License-Identifier: GPL-3.0-or-later
"""Who uses which GPU of the cluster, from what the nodes answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, GpuProcess
from ansible_collections.muster.train.plugins.module_utils._records.health import GpuState

from .._cluster.node import Node

# More than drivers keep of an idle GPU's memory.
DRIVER_MIB = 1024


@frozen
class GpuInUse:
    """A GPU, how it is now, and the processes that compute on it; None where they could not be listed.

    certain is False where they may be on another GPU of the node: AMD's driver lists them for all GPUs together.
    """

    device: Device
    state: GpuState
    processes: Sequence[GpuProcess] | None
    certain: bool = True

    @property
    def ranks(self) -> list[int]:
        """The ranks of runs here; empty where that is not certain."""
        return sorted({item.rank for item in self.processes or () if item.rank is not None and self.certain})

    def to_dict(self) -> dict[str, Any]:
        device = self.device
        return {
            **{name: getattr(device, name) for name in ("index", "name", "uuid", "pci_address", "partition")},
            "memory_mib": device.memory_mib,
            **{name: getattr(self.state, name) for name in ("memory_used_mib", "load_percent", "temperature_c")},
            "trouble": self.state.trouble,
            "processes": None if self.processes is None else [_process(item) for item in self.processes],
            "certain": self.certain,
        }


def _process(process: GpuProcess) -> dict[str, Any]:
    return {name: getattr(process, name) for name in ("pid", "uid", "user", "command", "run_id", "rank")}


def gpus_of(node: Node) -> list[GpuInUse] | None:
    """Return the GPUs of a node, partitions as GPUs of their own; None where they are not known."""
    if node.gpu is None:
        return None
    health = node.facts.gpu_health
    states = list(health.devices or ()) if health else []
    by_address = {state.pci_address: state for state in states if state.pci_address}
    by_index = {state.index: state for state in states}
    using, addresses = node.facts.gpu_processes, {device.pci_address for device in node.gpu.devices}
    elsewhere = [process for process in using or () if process.device not in addresses]
    gpus = []
    for device in node.gpu.devices:
        address = device.pci_address
        state = by_address.get(address) if address else by_index.get(device.index)
        here = [process for process in using or () if process.device == address]
        # Partitions of a GPU have its address; of one GPU alone all processes are its own.
        shared = sum(other.pci_address == address for other in node.gpu.devices) > 1
        certain = not (here and shared) and (not elsewhere or len(node.gpu.devices) == 1)
        state = state or GpuState(device.index)
        processes = None if using is None else [*here, *elsewhere]
        # A container's tool lists none of the processes outside of it.
        processes = None if not processes and _is_busy(state) else processes
        gpus.append(GpuInUse(device, state, processes, certain))
    return gpus


def _is_busy(state: GpuState) -> bool:
    return bool(state.load_percent) or (state.memory_used_mib or 0) > DRIVER_MIB


def run_ids(gpus: Iterable[GpuInUse]) -> list[str]:
    """Return the runs that use some of these GPUs."""
    return sorted({process.run_id for gpu in gpus for process in gpu.processes or () if process.run_id})
