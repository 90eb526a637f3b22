# SPDX-License-Identifier: GPL-3.0-or-later
"""The NVIDIA GPUs of a node and what links them, from nvidia-smi.

Three calls side by side: --query-gpu for the devices, topo -m for the links, and -q -d COMPUTE for the CUDA version
alone. -q -x has the first and the last in one, but reads every counter of every GPU, so it is called only when an old
driver refuses --query-gpu. -L is called where MIG is on, because only it has a partition's UUID.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Callable

from ..._host import pci
from ..._host.budget import Budget
from ..._host.command import NO_ANSWER, CommandResult
from ..._host.host import Host
from ..._host.probe import run_probes
from ..._records.gpu import Device, Gpu, GpuFault, Link, NicLink
from ..gone import pci_faults
from . import driver, smi_output
from .failure import NOT_KNOWN, kind_of_value, parse_failure
from .smi_output import SmiAnswer, SmiGpu
from .topology import Topology, nic_relation, nvlinks, parse_topology

Warn = Callable[[str], None]
DEVICES = ("nvidia-smi", f"--query-gpu={','.join(smi_output.QUERY)}", "--format=csv,noheader,nounits")
TOPOLOGY = ("nvidia-smi", "topo", "-m")
VERSIONS = ("nvidia-smi", "-q", "-d", "COMPUTE")
EVERYTHING = ("nvidia-smi", "-q", "-x")
LIST = ("nvidia-smi", "-L")
CALL_CAP_S = 5.0
# A driver that does not stay loaded needs a second or two for each GPU, in every call; one that hangs never answers.
PATIENCE_S = 20.0
# Many times what it prints for 16 GPUs; a longer answer is not read.
ANSWER_LIMIT = 1024 * 1024
UNKNOWN = {
    DEVICES: "names, UUIDs and memory are unknown, except those that the driver lists",
    TOPOLOGY: "links are unknown",
    VERSIONS: "the CUDA version is unknown",
    LIST: "MIG devices are unknown",
}


def present(host: Host) -> int:
    """Return how many GPUs a process can open: those with a device node."""
    return len(driver.minors(host))


def read(host: Host, warn: Warn, cap: float = CALL_CAP_S) -> Gpu:
    """Return the GPUs that nvidia-smi lists (without it, those of the driver or the bus), their links and NICs.

    vendor is None if nvidia-smi is another vendor's: its devices and words are reported without interpretation.
    """
    smi = _Smi(host, warn, cap)
    answers = smi.ask(DEVICES, TOPOLOGY, VERSIONS)
    topology = parse_topology(answers.get(TOPOLOGY, ""))
    if TOPOLOGY in answers and not topology.gpus:
        smi.fail(TOPOLOGY, f"no table: {CommandResult(0, answers[TOPOLOGY], '').why(cap)}")
    answer = smi_output.parse_query(answers.get(DEVICES, ""))
    versions = smi_output.parse_log(answers.get(VERSIONS, ""))
    if not answer.gpus:
        answer = smi.ask_for_devices()
    partitions: dict[str, list[tuple[str, str]]] = {}
    if any(gpu.mig for gpu in answer.gpus):
        partitions = smi_output.parse_list(smi.ask_again(LIST))
    foreign = bool(topology.gpus) and topology.vendor is None
    if foreign:
        smi.fail(TOPOLOGY, "the table is another vendor's")
    smi.report()
    _report_words(answer, warn)
    if foreign and (answer.gpus or driver.on_bus(host)):
        topology = parse_topology("")  # whichever tool printed it, the GPUs are NVIDIA's
        foreign = False
    devices, places = _devices(host, answer, topology, partitions, warn)
    openable = present(host)
    return Gpu(
        vendor=None if foreign else "nvidia",
        count=0 if foreign else openable or len(answer.gpus) or len(topology.gpus),
        driver_version=answer.driver_version or versions.driver_version or driver.driver_version(host),
        runtime_version=versions.runtime_version or answer.runtime_version,
        devices=devices,
        links=_links(topology, places, devices),
        nics=dict(topology.legend),
        nic_links=_nic_links(topology, places),
        faults=[]
        if foreign or not devices
        else _faults(answer, topology, smi.fault, openable) or pci_faults(host, devices),
    )


def _faults(answer: SmiAnswer, topology: Topology, fault: GpuFault | None, openable: int) -> list[GpuFault]:
    """Return why nvidia-smi lists no GPU or too few, and what it prints instead of values for single ones."""
    faults = [
        GpuFault(kind, gpu.trouble, "nvidia-smi", gpu.pci_address, None if gpu.pci_address else gpu.index)
        for gpu in answer.gpus
        if gpu.trouble and (kind := kind_of_value(gpu.trouble))
    ]
    if fault is None or len(answer.gpus) >= max(1, openable) or fault.words in {item.words for item in faults}:
        return faults
    # A tool that cannot run says nothing where it or its table lists GPUs, or where no GPU can be opened anyway.
    is_moot = fault.kind == NOT_KNOWN and (answer.gpus or topology.gpus or not openable)
    return faults if is_moot else [fault, *faults]


def _report_words(answer: SmiAnswer, warn: Warn) -> None:
    """Warn of words instead of values that do not say that a GPU is broken."""
    indexes: dict[str, list[str]] = {}
    for gpu in answer.gpus:
        if gpu.trouble and not kind_of_value(gpu.trouble):
            indexes.setdefault(gpu.trouble, []).append(str(gpu.index))
    for words, numbers in indexes.items():
        warn(f"nvidia-smi --query-gpu: [{words}] instead of a value of GPU {', '.join(numbers)}")


class _Smi:
    """nvidia-smi and its failures: one warning for each reason."""

    def __init__(self, host: Host, warn: Warn, cap: float) -> None:
        self._host = host
        self._budget = Budget(host)
        self._warn = warn
        self._cap = cap
        self._failures: dict[tuple[str, ...], str] = {}
        self.fault: GpuFault | None = None
        self.given_up: set[tuple[str, ...]] = set()

    def ask(self, *commands: tuple[str, ...]) -> dict[tuple[str, ...], str]:
        """Run commands side by side and return the output of those that succeeded."""
        names = {" ".join(command): command for command in commands}
        calls = {name: partial(self._budget.run, command, self._cap) for name, command in names.items()}
        # Each call has its own limit; the extra second is for a machine too busy to keep it.
        results = run_probes(calls, self._cap + 1).answers
        answers = {}
        for name, command in names.items():
            result = results[name] or NO_ANSWER
            if self._judge(command, result, self._cap):
                answers[command] = result.out
        return answers

    def ask_for_devices(self) -> SmiAnswer:
        """Ask once more for the devices that --query-gpu did not list.

        If it gave no answer in time, alone and with patience; if it failed, in the words that old drivers know.
        """
        late = DEVICES in self.given_up
        command, limit_s = (DEVICES, PATIENCE_S) if late else (EVERYTHING, self._budget.left(self._cap))
        result = self._host.run(command, limit_s) if late else self._budget.run(command, self._cap)
        answer = (smi_output.parse_query if late else smi_output.parse_xml)(result.out)
        if answer.gpus:
            self._failures.pop(DEVICES, None)
            if late:
                self.fault = None
                self._warn(f"nvidia-smi needed more than {self._cap:g} s: does the driver stay loaded (persistence)?")
        elif late or result.rc is not None:
            self.fault = parse_failure(result, limit_s)
        return answer

    def ask_again(self, command: tuple[str, ...]) -> str:
        """Run one more command and return its output, empty if it failed."""
        limit_s = self._budget.left(self._cap)
        result = self._budget.run(command, self._cap)
        return result.out if self._judge(command, result, limit_s) else ""

    def _judge(self, command: tuple[str, ...], result: CommandResult, limit_s: float) -> bool:
        """Return whether the output can be used; limit_s is the time in s that the command had."""
        if command == DEVICES:
            self.fault = parse_failure(result, limit_s)
        if result.missing or result.timed_out:
            if result.timed_out:
                self.given_up.add(command)
            self.fail(command, result.why(limit_s))
        elif len(result.out) > ANSWER_LIMIT:
            self.fail(command, f"{len(result.out) // 1024} KiB of output, not read")
        elif command == DEVICES and smi_output.parse_query(result.out).gpus:
            # For a GPU that does not answer there is another line, and the exit code is not 0.
            self.fault = None
            rest = dataclasses.replace(result, out=smi_output.other_lines(result.out))
            if rest.out.strip() or rest.err.strip():
                self._warn(f"nvidia-smi --query-gpu: {rest.why(limit_s)}")
                self.fault = parse_failure(rest, limit_s)
            return True
        elif result.rc != 0 or command == DEVICES or not result.out.strip():
            self.fail(command, result.why(limit_s))
        else:
            return True
        return False

    def fail(self, command: tuple[str, ...], why: str) -> None:
        """Remember why a command gave no answer."""
        self._failures[command] = why

    def report(self) -> None:
        """Warn once for each reason, with the commands and what is unknown."""
        reasons: dict[str, list[tuple[str, ...]]] = {}
        for command, why in self._failures.items():
            if command in UNKNOWN:
                reasons.setdefault(why, []).append(command)
        for why, commands in reasons.items():
            named = ", ".join(" ".join(command).partition("=")[0] for command in commands)
            self._warn(f"{named}: {why}; {', '.join(UNKNOWN[command] for command in commands)}")


# Devices


def _devices(
    host: Host, answer: SmiAnswer, topology: Topology, partitions: Mapping[str, Sequence[tuple[str, str]]], warn: Warn
) -> tuple[list[Device], dict[str, list[int]]]:
    """Return the devices, MIG devices included, and for each label of the topology the indexes of its devices."""
    labeled: list[tuple[str, Device]] = []
    for gpu in answer.gpus:
        whole = Device(
            gpu.index, gpu.name, gpu.uuid, gpu.pci_address, pci.numa_node(host, gpu.pci_address), gpu.memory_mib
        )
        parts = _partitions(gpu, partitions, warn)
        labeled += [(f"GPU{gpu.index}", part) for part in _cut(whole, parts)]
    if not labeled:
        devices = driver.read_devices(host)
        if topology.gpus and len(devices) != len(topology.gpus):
            devices = [Device(index) for index, _label in enumerate(topology.gpus)]
        labels = topology.gpus or [f"GPU{device.index}" for device in devices]
        labeled = list(zip(labels, devices))
    if any(device.partition for _label, device in labeled):
        labeled = [(label, dataclasses.replace(device, index=index)) for index, (label, device) in enumerate(labeled)]
    labeled = [(label, _with_numa(device, topology, label)) for label, device in labeled]
    places: dict[str, list[int]] = {}
    for label, device in labeled:
        places.setdefault(label, []).append(device.index)
    return [device for _label, device in labeled], places


def _partitions(
    gpu: SmiGpu, partitions: Mapping[str, Sequence[tuple[str, str]]], warn: Warn
) -> Sequence[tuple[str, str]]:
    listed = partitions.get(gpu.uuid or "") if gpu.mig else None
    if listed is not None and not listed:
        warn(f"GPU {gpu.index} is in MIG mode without a MIG device: nothing can run on it")
    return listed or []


def _cut(whole: Device, parts: Sequence[tuple[str, str]]) -> list[Device]:
    """Return the MIG devices of a GPU, itself when it has none; their memory is unknown."""
    return [dataclasses.replace(whole, uuid=uuid, memory_mib=None, partition=profile) for profile, uuid in parts] or [
        whole
    ]


def _with_numa(device: Device, topology: Topology, label: str) -> Device:
    """Fill in the NUMA node from the topology where sysfs has none."""
    affinity = topology.affinity.get(label)
    if device.numa_node is not None or affinity is None or not re.fullmatch("[0-9]{1,6}", affinity.numa or ""):
        return device
    return dataclasses.replace(device, numa_node=int(affinity.numa or ""))


# Links


def _links(topology: Topology, places: Mapping[str, list[int]], devices: Sequence[Device]) -> list[Link]:
    """Return the links between whole GPUs: MIG devices have neither NVLink nor peer-to-peer."""
    cut = {device.index for device in devices if device.partition}
    links = []
    for one, other in combinations(topology.gpus, 2):
        word = topology.relation(one, other)
        for a, b in zip(places.get(one, []), places.get(other, [])):
            if word and not {a, b} & cut:
                links.append(Link(min(a, b), max(a, b), word, nvlinks(word) if topology.vendor else None))
    return links


def _nic_links(topology: Topology, places: Mapping[str, list[int]]) -> list[NicLink]:
    links = []
    for gpu in topology.gpus:
        relations = [(topology.name(nic), nic_relation(topology.relation(gpu, nic))) for nic in topology.nics]
        for index in places.get(gpu, []):
            links += [NicLink(index, name, relation) for name, relation in relations if relation]
    return links
