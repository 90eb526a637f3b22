# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA GPUs: what nvidia-smi tells, and what is left without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia import devices
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu, GpuFault, Link, NicLink
from ansible_collections.muster.train.tests.support.nvidia_machines import (
    BUSES,
    CUDA,
    DRIVER,
    DRIVER_DOWN,
    EVERYTHING,
    LIST,
    NAME,
    QUERY,
    TOPOLOGY,
    VERSIONS,
    machine,
    row,
    table,
    uuid,
)
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine
from ansible_collections.muster.train.tests.unit.module_utils._gpu.nvidia.test_smi_output import XML

DEVICES = [Device(index, NAME, uuid(index), f"0000:{bus}:00.0", index // 2, 81559) for index, bus in enumerate(BUSES)]
WITHOUT_TOOL = [Device(index, NAME, uuid(index), f"0000:{bus}:00.0", index // 2) for index, bus in enumerate(BUSES)]


THEIRS = table().replace("NV18", "HT").replace("NV#", "HT").replace("NVLinks", "MarsLink")
LOST = "Unable to determine the device handle for GPU3: 0000:AE:00.0: GPU is lost.  Reboot the system to recover it"
MIG_LIST = (
    f"GPU 0: {NAME} (UUID: {uuid(0)})\nGPU 1: {NAME} (UUID: {uuid(1)})\n"
    "  MIG 3g.40gb     Device  0: (UUID: MIG-a)\n  MIG 1g.10gb     Device  1: (UUID: MIG-b)\n"
    f"GPU 2: {NAME} (UUID: {uuid(2)})\nGPU 3: {NAME} (UUID: {uuid(3)})\n"
)


def answering(answers: dict[str, str], rc: int = 0) -> dict[str, Any]:
    """The machine, but some commands print this."""
    commands = {name: {"rc": rc, "stdout": stdout} for name, stdout in answers.items()}
    return {**machine(), "commands": {**machine()["commands"], **commands}}


def listing(*rows: str) -> dict[str, str]:
    return {QUERY: "\n".join(rows)}


MIG_WITHOUT_DEVICE = listing(
    row(0), row(1, mig="Enabled"), row(2, mig="Enabled", memory="[Insufficient Permissions]"), row(3)
)
TROUBLES: dict[str, dict[str, Any]] = {
    "no tool": machine(tool=False),
    "the driver is down": answering(dict.fromkeys((QUERY, TOPOLOGY, VERSIONS), DRIVER_DOWN), 9),
    "no devices": {
        **machine(openable=[], proc=False),
        "commands": {QUERY: {"rc": 6, "stdout": "No devices were found\n"}, TOPOLOGY: {"rc": 0, "stdout": "\n"}},
    },
    "a GPU that is lost": answering(listing(row(0), row(1), row(2, memory="[Unknown Error]"), LOST), 15),
    "a GPU in MIG mode without a MIG device": answering({**MIG_WITHOUT_DEVICE, LIST: MIG_LIST}),
    "MIG devices that are not listed": answering(listing(*(row(index, mig="Enabled") for index in range(4)))),
    "another maker's tool": {"commands": {TOPOLOGY: {"rc": 0, "stdout": THEIRS}}, "files": {"/dev/nvidia0": ""}},
    "another maker's tool for NVIDIA's GPUs": answering({TOPOLOGY: THEIRS}),
}
HANGS = {"a tool that hangs": [QUERY, TOPOLOGY, VERSIONS, EVERYTHING], "only the links hang": [TOPOLOGY]}


def read(manifest: dict[str, Any], root: Path, hangs: Sequence[str] = ()) -> tuple[Gpu, list[str], list[str]]:
    warnings: list[str] = []
    host = OwnMachine(manifest, root, hangs)
    gpu = devices.read(host, warnings.append)
    return gpu, warnings, sorted(host.commands_run)


def test_whole(tmp_path: Path) -> None:
    gpu, warnings, commands = read(machine(), tmp_path)
    assert (gpu.vendor, gpu.count, gpu.driver_version, gpu.runtime_version) == ("nvidia", 4, DRIVER, CUDA)
    assert gpu.devices == DEVICES
    assert gpu.links == [Link(a, b, "NV18", 18) for a in range(4) for b in range(a + 1, 4)]
    assert gpu.nics == {"NIC0": "mlx5_0", "NIC1": "mlx5_1"}
    assert gpu.nic_links[:2] == [NicLink(0, "mlx5_0", "PIX"), NicLink(0, "mlx5_1", "SYS")]
    assert len(gpu.nic_links) == 8
    assert warnings == []
    assert commands == sorted([QUERY, TOPOLOGY, VERSIONS])


def test_a_container_with_two_of_them(tmp_path: Path) -> None:
    manifest = machine(openable=[2, 3])
    rows = [row(2).replace("2,", "0,", 1), row(3).replace("3,", "1,", 1)]
    manifest["commands"][QUERY]["stdout"] = "\n".join(rows)
    manifest["commands"][TOPOLOGY]["stdout"] = "GPU0 GPU1 CPU Affinity\nGPU0 X NV18 32-63\nGPU1 NV18 X 32-63\n"
    gpu, warnings, _commands = read(manifest, tmp_path)
    assert gpu.count == 2
    assert [(device.index, device.pci_address) for device in gpu.devices] == [(0, "0000:9d:00.0"), (1, "0000:ae:00.0")]
    assert (gpu.links, gpu.nic_links, warnings) == ([Link(0, 1, "NV18", 18)], [], [])


def test_without_the_tool(tmp_path: Path) -> None:
    gpu, warnings, _commands = read(TROUBLES["no tool"], tmp_path)
    unknown = GpuFault("unknown", "not found", "nvidia-smi")
    assert gpu == Gpu("nvidia", 4, DRIVER, None, WITHOUT_TOOL, faults=[unknown])
    assert len(warnings) == 1


def test_without_the_tool_only_what_can_be_opened_counts(tmp_path: Path) -> None:
    gpu, _warnings, _commands = read(machine(openable=[1, 3], tool=False), tmp_path)
    assert [(device.index, device.uuid) for device in gpu.devices] == [(0, uuid(1)), (1, uuid(3))]
    assert gpu.count == 2


def test_without_the_tool_and_the_drivers_word(tmp_path: Path) -> None:
    gpu, _warnings, _commands = read(machine(tool=False, proc=False), tmp_path / "all")
    assert gpu.devices == [
        Device(index, pci_address=f"0000:{bus}:00.0", numa_node=index // 2) for index, bus in enumerate(BUSES)
    ]
    assert gpu.driver_version is None
    # Which two of the four on the bus they are cannot be known.
    gpu, _warnings, _commands = read(machine(openable=[0, 1], tool=False, proc=False), tmp_path / "two")
    assert gpu.devices == [Device(0), Device(1)]
    # The driver is not loaded.
    gpu, _warnings, _commands = read(machine(openable=[], tool=False, proc=False), tmp_path / "none")
    assert (gpu.count, len(gpu.devices)) == (0, 4)


def test_virtual_functions_of_a_vgpu_host_are_not_gpus(tmp_path: Path) -> None:
    manifest = machine(openable=[], tool=False, proc=False)
    manifest["links"]["/sys/bus/pci/devices/0000:1b:00.4/physfn"] = "../0000:1b:00.0"
    manifest["files"] |= {
        "/sys/bus/pci/devices/0000:1b:00.4/vendor": "0x10de\n",
        "/sys/bus/pci/devices/0000:1b:00.4/class": "0x030200\n",
    }
    assert len(read(manifest, tmp_path)[0].devices) == 4


def test_the_driver_is_down(tmp_path: Path) -> None:
    gpu, warnings, _commands = read(TROUBLES["the driver is down"], tmp_path)
    assert (gpu.devices, gpu.links, gpu.runtime_version) == (WITHOUT_TOOL, [], None)
    assert len(warnings) == 1


def test_no_devices_were_found(tmp_path: Path) -> None:
    gpu, warnings, _commands = read(TROUBLES["no devices"], tmp_path)
    assert gpu.count == 0
    assert warnings


def test_a_driver_too_old_for_the_query(tmp_path: Path) -> None:
    manifest = machine()
    refusal = 'Field "mig.mode.current" is not a valid field to query.\n\n'
    manifest["commands"][QUERY] = {"rc": 2, "stdout": refusal}
    manifest["commands"][VERSIONS] = {"rc": 0, "stdout": "Driver Version : 418.40\n"}
    manifest["commands"][EVERYTHING] = {"rc": 0, "stdout": XML.replace("Enabled", "N/A")}
    gpu, warnings, _commands = read(manifest, tmp_path)
    assert [(device.name, device.memory_mib) for device in gpu.devices] == [(NAME, 81559), (NAME, None)]
    assert (gpu.links, gpu.runtime_version, warnings) == ([Link(0, 1, "NV18", 18)], CUDA, [])


def test_one_gpu_is_lost(tmp_path: Path) -> None:
    gpu, warnings, _commands = read(TROUBLES["a GPU that is lost"], tmp_path)
    assert (gpu.count, [device.memory_mib for device in gpu.devices]) == (4, [81559, 81559, None, None])
    assert gpu.faults == [
        GpuFault("other", "Unknown Error", "nvidia-smi", "0000:9d:00.0"),
        GpuFault("lost", LOST, "nvidia-smi", "0000:ae:00.0"),
    ]
    assert len(warnings) == 1


def test_mig(tmp_path: Path) -> None:
    gpu, warnings, commands = read(TROUBLES["a GPU in MIG mode without a MIG device"], tmp_path)
    assert [(item.index, item.uuid, item.partition, item.memory_mib, item.pci_address) for item in gpu.devices] == [
        (0, uuid(0), None, 81559, "0000:1b:00.0"),
        (1, "MIG-a", "3g.40gb", None, "0000:2c:00.0"),
        (2, "MIG-b", "1g.10gb", None, "0000:2c:00.0"),
        (3, uuid(2), None, None, "0000:9d:00.0"),
        (4, uuid(3), None, 81559, "0000:ae:00.0"),
    ]
    # Nothing but PCI leads to a MIG device.
    assert gpu.links == [Link(0, 3, "NV18", 18), Link(0, 4, "NV18", 18), Link(3, 4, "NV18", 18)]
    assert [link for link in gpu.nic_links if link.nic == "mlx5_0" and link.relation == "PIX"] == [
        NicLink(index, "mlx5_0", "PIX") for index in (0, 1, 2)
    ]
    assert (len(warnings), LIST in commands) == (1, True)


def test_mig_devices_that_are_not_listed(tmp_path: Path) -> None:
    gpu, warnings, _commands = read(TROUBLES["MIG devices that are not listed"], tmp_path)
    assert (len(gpu.devices), len(warnings)) == (4, 1)


def test_another_makers_tool(tmp_path: Path) -> None:
    gpu, warnings, _commands = read(TROUBLES["another maker's tool"], tmp_path / "a")
    assert (gpu.vendor, gpu.count, len(gpu.devices)) == (None, 0, 4)
    assert gpu.links[0] == Link(0, 1, "HT", None)
    assert warnings
    # The GPUs are NVIDIA's, whatever is called nvidia-smi there.
    gpu, warnings, _commands = read(TROUBLES["another maker's tool for NVIDIA's GPUs"], tmp_path / "b")
    assert (gpu.vendor, gpu.devices, gpu.links, gpu.nics) == ("nvidia", DEVICES, [], {})
    assert len(warnings) == 1


def test_a_numa_node_that_sysfs_lacks(tmp_path: Path) -> None:
    manifest = machine()
    for path in [path for path in manifest["files"] if path.endswith("/numa_node")]:
        manifest["files"][path] = "-1\n"
    assert [device.numa_node for device in read(manifest, tmp_path / "a")[0].devices] == [0, 0, 1, 1]
    manifest["commands"][TOPOLOGY]["stdout"] = table().replace("0-31\t0", "0-31\t0,3-9")
    assert [device.numa_node for device in read(manifest, tmp_path / "b")[0].devices] == [None, None, 1, 1]


@pytest.mark.parametrize("output", ["", "\n\n", "\0\1\2" * 1000, "GPU0 GPU1\n" * 1000, "x" * 10_000_000])
def test_garbage(tmp_path: Path, output: str) -> None:
    manifest = machine()
    for command in manifest["commands"].values():
        command["stdout"] = output
    gpu, warnings, _commands = read(manifest, tmp_path)
    assert (gpu.devices, gpu.links, gpu.nics, gpu.runtime_version) == (WITHOUT_TOOL, [], {}, None)
    assert warnings
    assert max(map(len, warnings)) < 600


def test_a_tool_that_hangs_is_not_called_again(tmp_path: Path) -> None:
    gpu, warnings, commands = read(machine(), tmp_path, HANGS["a tool that hangs"])
    assert (gpu.devices, len(warnings)) == (WITHOUT_TOOL, 1)
    assert EVERYTHING not in commands


def test_only_the_links_hang(tmp_path: Path) -> None:
    gpu, warnings, _commands = read(machine(), tmp_path, HANGS["only the links hang"])
    assert (gpu.devices, gpu.links, gpu.runtime_version, len(warnings)) == (DEVICES, [], CUDA, 1)
