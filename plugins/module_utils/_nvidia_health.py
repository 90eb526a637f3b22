# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How NVIDIA's GPUs are, from nvidia-smi and /sys.

Two calls side by side: -q -x for all counters, and nvlink -s. Drivers rename the fields of --query-gpu and then refuse
the whole call; of the document only what is not there is unknown.
"""

from __future__ import annotations

import dataclasses
from typing import Callable

from . import _nvidia_sysfs, _pci
from ._budget import Budget
from ._command import CommandResult
from ._health_records import FabricManager, GpuHealth, GpuState
from ._host import Host
from ._nvidia_states import parse_nvlinks, parse_states
from ._pcie_link import read_link
from ._probe import run_probes

EVERYTHING = ("nvidia-smi", "-q", "-x")
NVLINKS = ("nvidia-smi", "nvlink", "-s")
FABRIC_MANAGER = ("systemctl", "is-active", "nvidia-fabricmanager.service")
CAP_S = 8.0
# An NVSwitch is a bridge of another kind (PCI class 0680) by NVIDIA.
SWITCH_CLASS = "0x0680"


def read_nvidia_health(host: Host) -> GpuHealth:
    """Return the states by nvidia-smi; without it (or of another root) the PCIe links alone, and why."""
    switched = _has_switch(host)
    if not host.own:
        return GpuHealth(_of_sysfs(host), FabricManager(switched), "another root: nvidia-smi was not asked")
    budget = Budget(host)
    commands = {"all": EVERYTHING, "nvlinks": NVLINKS, **({"manager": FABRIC_MANAGER} if switched else {})}
    answers = run_probes({name: _call(budget, command) for name, command in commands.items()}, CAP_S + 1).answers
    everything, nvlinks = answers["all"], answers["nvlinks"]
    states = parse_states(everything.out) if everything is not None and everything.rc is not None else []
    links = parse_nvlinks(nvlinks.out) if nvlinks is not None and nvlinks.rc == 0 else {}
    states = [dataclasses.replace(state, nvlinks_down=links.get(state.uuid or "")) for state in states]
    return GpuHealth(
        devices=states or _of_sysfs(host),
        fabric_manager=_fabric_manager(switched, answers.get("manager")),
        why=None if states else _why(everything),
    )


def _call(budget: Budget, command: tuple[str, ...]) -> Callable[[], CommandResult]:
    return lambda: budget.run(command, CAP_S)


def _why(result: CommandResult | None) -> str:
    command = " ".join(EVERYTHING)
    return f"{command}: {(result or CommandResult(None, '', '', timed_out=True)).why(CAP_S)}"


def _of_sysfs(host: Host) -> list[GpuState]:
    found = []
    for device in _nvidia_sysfs.read_devices(host):
        link = read_link(host, f"{_pci.DEVICES}/{device.pci_address}") if device.pci_address else (None,) * 4
        found.append(
            GpuState(
                index=device.index,
                pci_address=device.pci_address,
                uuid=device.uuid,
                link_width=link[0],
                link_width_max=link[1],
                link_gen=link[2],
                link_gen_max=link[3],
            )
        )
    return found


def _has_switch(host: Host) -> bool | None:
    addresses = host.list_dir(_pci.DEVICES)
    if addresses is None:
        return None
    return any(
        _pci.vendor(host, address) == _pci.NVIDIA and _pci.is_class(host, address, SWITCH_CLASS)
        for address in addresses
    )


def _fabric_manager(switched: bool | None, said: CommandResult | None) -> FabricManager:
    """Return what systemd says of the service: a word on stdout, with an exit code unless it is active."""
    if said is None or said.rc is None:
        return FabricManager(switched)
    word = said.out.strip()[:40]
    known = word in ("active", "reloading", "inactive", "failed", "activating", "deactivating", "maintenance")
    return FabricManager(switched, word in ("active", "reloading") if known else None, word or None)
