# SPDX-License-Identifier: GPL-3.0-or-later
"""The health of NVIDIA's GPUs, from nvidia-smi and /sys.

Two calls side by side: -q -x for all counters, and nvlink -s. Drivers refuse a --query-gpu with one field that they
do not know; in the document only that field is missing. Throttle reasons became event reasons (535), and the places of
ECC counters depend on the architecture. A value that a GPU does not have is printed in words ("N/A",
"[Requested functionality …]") and is None.
"""

from __future__ import annotations

import dataclasses
import re
from functools import partial
from xml.etree import ElementTree

from ..._host import pci
from ..._host.budget import Budget
from ..._host.command import NO_ANSWER, CommandResult
from ..._host.host import Host
from ..._host.pci import PcieLink, normalize, read_link
from ..._host.probe import run_probes
from ..._records.health import FabricManager, GpuHealth, GpuState
from . import driver
from .smi_output import parse_document, text_of

EVERYTHING = ("nvidia-smi", "-q", "-x")
NVLINKS = ("nvidia-smi", "nvlink", "-s")
FABRIC_MANAGER = ("systemctl", "is-active", "nvidia-fabricmanager.service")
CAP_S = 8.0
# An NVSwitch is NVIDIA's bridge of the kind "other" (PCI class 0680).
SWITCH_CLASS = "0x0680"
_NUMBER = re.compile(r"([0-9]{1,18})(?:x| C| %| MiB)?", re.ASCII)
_GPU_LINE = re.compile(r"GPU [0-9]{1,4}:.*\(UUID: (GPU-[^)\s]+)\)")
_LINK_LINE = re.compile(r"[ \t]*Link ([0-9]{1,3}): (.+)")
# An idle GPU, or one that keeps to configured clocks, is healthy.
HARMLESS = ("gpu_idle", "applications_clocks_setting", "sync_boost", "display_clocks_setting")
_REASON = re.compile(r"clocks_(?:throttle|event)_reason_(\w+)")
_TROUBLE = re.compile(r"\[?((?:GPU is lost|Unknown Error|GPU requires reset)[^\]]{0,60})\]?")
# Older documents have sums by bits, newer ones counters by memory.
_UNCORRECTED = re.compile(r"(?:sram|dram)_uncorrectable\w*")


def read_nvidia_health(host: Host) -> GpuHealth:
    """Return the states from nvidia-smi; without it, or below another root, only the PCIe links, and why."""
    switched = _has_switch(host)
    if not host.is_live:
        return GpuHealth(_of_sysfs(host), FabricManager(switched), "nvidia-smi is not called for another root")
    budget = Budget(host)
    commands = {"all": EVERYTHING, "nvlinks": NVLINKS, **({"manager": FABRIC_MANAGER} if switched else {})}
    answers = run_probes({name: partial(budget.run, argv, CAP_S) for name, argv in commands.items()}, CAP_S + 1).answers
    everything, nvlinks = answers["all"], answers["nvlinks"]
    states = parse_states(everything.out) if everything is not None and everything.rc is not None else []
    links = parse_nvlinks(nvlinks.out) if nvlinks is not None and nvlinks.rc == 0 else {}
    states = [dataclasses.replace(state, nvlinks_down=links.get(state.uuid or "")) for state in states]
    return GpuHealth(
        devices=states or _of_sysfs(host),
        fabric_manager=_fabric_manager(switched, answers.get("manager")),
        why=None if states else f"{' '.join(EVERYTHING)}: {(everything or NO_ANSWER).why(CAP_S)}",
    )


def _of_sysfs(host: Host) -> list[GpuState]:
    states = []
    for device in driver.read_devices(host):
        link = read_link(host, f"{pci.DEVICES}/{device.pci_address}") if device.pci_address else PcieLink()
        states.append(GpuState(device.index, device.pci_address, device.uuid, **link._asdict()))
    return states


def _has_switch(host: Host) -> bool | None:
    addresses = host.list_dir(pci.DEVICES)
    if addresses is None:
        return None
    nvidia = (address for address in addresses if pci.vendor(host, address) == pci.NVIDIA)
    return any(pci.is_class(host, address, SWITCH_CLASS) for address in nvidia)


def _fabric_manager(switched: bool | None, result: CommandResult | None) -> FabricManager:
    """Return systemd's state of the service: a word on stdout, with an exit code unless it is active."""
    if result is None or result.rc is None:
        return FabricManager(switched)
    word = result.out.strip()[:40]
    known = word in ("active", "reloading", "inactive", "failed", "activating", "deactivating", "maintenance")
    return FabricManager(switched, word in ("active", "reloading") if known else None, word or None)


def parse_states(text: str) -> list[GpuState]:
    """Return the GPUs of -q -x, numbered in its order, which is that of the indexes."""
    log = parse_document(text)
    return [] if log is None else [_state(index, gpu) for index, gpu in enumerate(log.findall("gpu"))]


def _state(index: int, gpu: ElementTree.Element) -> GpuState:
    link = "pci/pci_gpu_link_info"
    uuid = text_of(gpu, "uuid")
    return GpuState(
        index=index,
        pci_address=normalize(text_of(gpu, "pci/pci_bus_id") or gpu.get("id", "")),
        uuid=uuid if uuid.startswith("GPU-") else None,
        ecc_mode=_mode(text_of(gpu, "ecc_mode/current_ecc")),
        ecc_pending=_mode(text_of(gpu, "ecc_mode/pending_ecc")),
        ecc_uncorrected=_uncorrected(gpu),
        remap_pending=_flag(text_of(gpu, "remapped_rows/remapped_row_pending")),
        remap_failure=_flag(text_of(gpu, "remapped_rows/remapped_row_failure")),
        link_width=_number(text_of(gpu, f"{link}/link_widths/current_link_width")),
        link_width_max=_number(text_of(gpu, f"{link}/link_widths/max_link_width")),
        link_gen=_number(text_of(gpu, f"{link}/pcie_gen/current_link_gen")),
        link_gen_max=_number(text_of(gpu, f"{link}/pcie_gen/max_link_gen")),
        throttle=_throttle(gpu),
        persistence=_flag(text_of(gpu, "persistence_mode")),
        temperature_c=_number(text_of(gpu, "temperature/gpu_temp")),
        load_percent=_number(text_of(gpu, "utilization/gpu_util")),
        memory_used_mib=_number(text_of(gpu, "fb_memory_usage/used")),
        fabric_state=_word(text_of(gpu, "fabric/state")),
        trouble=_trouble(gpu),
    )


def _number(text: str) -> int | None:
    match = _NUMBER.fullmatch(text)
    return int(match.group(1)) if match else None


def _mode(text: str) -> str | None:
    return text.lower() if text in ("Enabled", "Disabled") else None


def _flag(text: str) -> bool | None:
    return {"Yes": True, "Enabled": True, "No": False, "Disabled": False}.get(text)


def _word(text: str) -> str | None:
    return None if text in ("", "N/A") or text.startswith("[") else text


def _uncorrected(gpu: ElementTree.Element) -> int | None:
    """Return the sum of the counters of errors that were not corrected since the driver was loaded."""
    volatile = gpu.find("ecc_errors/volatile")
    if volatile is None:
        return None
    counters = [_number((child.text or "").strip()) for child in volatile if _UNCORRECTED.fullmatch(child.tag)]
    counters = counters or [_number((volatile.findtext("double_bit/total") or "").strip())]
    numbers = [number for number in counters if number is not None]
    return sum(numbers) if numbers else None


def _throttle(gpu: ElementTree.Element) -> list[str] | None:
    reasons = [element for name in ("event", "throttle") for element in gpu.findall(f"clocks_{name}_reasons")]
    known = False
    active = []
    for child in reasons[0] if reasons else []:
        match = _REASON.fullmatch(child.tag)
        state = (child.text or "").strip()
        known = known or state in ("Active", "Not Active")
        if match and state == "Active" and match.group(1) not in HARMLESS:
            active.append(match.group(1))
    return active if known else None


def _trouble(gpu: ElementTree.Element) -> str | None:
    """Return what is printed instead of values for a GPU that does not answer."""
    for element in gpu.iter():
        match = _TROUBLE.fullmatch((element.text or "").strip())
        if match:
            return match.group(1)
    return None


def parse_nvlinks(text: str) -> dict[str, list[int]]:
    """Return by UUID the numbers of the NVLinks that have no peer, as nvlink -s prints them: <inactive>."""
    links_down: dict[str, list[int]] = {}
    uuid = None
    for line in text.splitlines():
        gpu = _GPU_LINE.match(line[:300])
        link = _LINK_LINE.match(line[:300])
        if gpu:
            uuid = gpu.group(1)
        elif link and uuid is not None:
            down = links_down.setdefault(uuid, [])
            if link.group(2).strip() == "<inactive>":
                down.append(int(link.group(1)))
    return links_down
