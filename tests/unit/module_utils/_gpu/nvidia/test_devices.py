# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA GPUs: what nvidia-smi tells, and what is left without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia import devices
from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu, Link, NicLink
from ansible_collections.muster.train.tests.support.machines import Machine
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
from ansible_collections.muster.train.tests.unit.module_utils._gpu.nvidia.test_smi_output import XML

DEVICES = [Device(index, NAME, uuid(index), f"0000:{bus}:00.0", index // 2, 81559) for index, bus in enumerate(BUSES)]
WITHOUT_TOOL = [Device(index, NAME, uuid(index), f"0000:{bus}:00.0", index // 2) for index, bus in enumerate(BUSES)]


def read(manifest: dict[str, Any], root: Path) -> tuple[Gpu, list[str], list[str]]:
    warnings: list[str] = []
    host = Machine(manifest, root)
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
    gpu, warnings, _commands = read(machine(tool=False), tmp_path)
    assert gpu == Gpu("nvidia", 4, DRIVER, None, WITHOUT_TOOL)
    assert len(warnings) == 1
    assert "nvidia-smi --query-gpu, nvidia-smi topo -m, nvidia-smi -q -d COMPUTE: not found; names" in warnings[0]
    assert "links are unknown" in warnings[0]


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
    manifest = machine()
    for command in manifest["commands"].values():
        command |= {"rc": 9, "stdout": DRIVER_DOWN}
    gpu, warnings, _commands = read(manifest, tmp_path)
    assert (gpu.devices, gpu.links, gpu.runtime_version) == (WITHOUT_TOOL, [], None)
    assert len(warnings) == 1
    assert "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver" in warnings[0]


def test_no_devices_were_found(tmp_path: Path) -> None:
    manifest = machine(openable=[], proc=False)
    manifest["commands"] = {QUERY: {"rc": 6, "stdout": "No devices were found\n"}, TOPOLOGY: {"rc": 0, "stdout": "\n"}}
    gpu, warnings, _commands = read(manifest, tmp_path)
    assert gpu.count == 0
    assert "nvidia-smi --query-gpu: No devices were found; names" in warnings[0]


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
    manifest = machine()
    lost = "Unable to determine the device handle for GPU3: 0000:AE:00.0: GPU is lost.  Reboot the system to recover it"
    rows = [row(0), row(1), row(2, memory="[Unknown Error]"), lost]
    manifest["commands"][QUERY] = {"rc": 15, "stdout": "\n".join(rows)}
    gpu, warnings, _commands = read(manifest, tmp_path)
    assert (gpu.count, [device.memory_mib for device in gpu.devices]) == (4, [81559, 81559, None])
    assert sorted(warnings) == [f"nvidia-smi --query-gpu: {lost}", "nvidia-smi reports for GPU 2: Unknown Error"]


def test_mig(tmp_path: Path) -> None:
    manifest = machine()
    rows = [row(0), row(1, mig="Enabled"), row(2, mig="Enabled", memory="[Insufficient Permissions]"), row(3)]
    manifest["commands"][QUERY]["stdout"] = "\n".join(rows)
    manifest["commands"][LIST] = {
        "rc": 0,
        "stdout": f"GPU 0: {NAME} (UUID: {uuid(0)})\nGPU 1: {NAME} (UUID: {uuid(1)})\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-a)\n  MIG 1g.10gb     Device  1: (UUID: MIG-b)\n"
        f"GPU 2: {NAME} (UUID: {uuid(2)})\nGPU 3: {NAME} (UUID: {uuid(3)})\n",
    }
    gpu, warnings, commands = read(manifest, tmp_path)
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
    assert warnings == ["GPU 2 is in MIG mode without a MIG device: nothing can run on it"]
    assert LIST in commands


def test_mig_devices_that_are_not_listed(tmp_path: Path) -> None:
    manifest = machine()
    manifest["commands"][QUERY]["stdout"] = "\n".join(row(index, mig="Enabled") for index in range(4))
    gpu, warnings, _commands = read(manifest, tmp_path)
    assert len(gpu.devices) == 4
    assert warnings == ["nvidia-smi -L: not found; MIG devices are unknown"]


def test_another_makers_tool(tmp_path: Path) -> None:
    theirs = table().replace("NV18", "HT").replace("NV#", "HT").replace("NVLinks", "MarsLink")
    manifest: dict[str, Any] = {
        "commands": {TOPOLOGY: {"rc": 0, "stdout": theirs}},
        "files": {"/dev/nvidia0": ""},
    }
    gpu, warnings, _commands = read(manifest, tmp_path / "a")
    assert (gpu.vendor, gpu.count, len(gpu.devices)) == (None, 0, 4)
    assert gpu.links[0] == Link(0, 1, "HT", None)
    assert "nvidia-smi topo -m: the table is another vendor's; links are unknown" in warnings
    # The GPUs are NVIDIA's, whatever is called nvidia-smi there.
    manifest = machine()
    manifest["commands"][TOPOLOGY]["stdout"] = theirs
    gpu, warnings, _commands = read(manifest, tmp_path / "b")
    assert (gpu.vendor, gpu.devices, gpu.links, gpu.nics) == ("nvidia", DEVICES, [], {})
    assert warnings == ["nvidia-smi topo -m: the table is another vendor's; links are unknown"]


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


class Hung(Machine):
    """A machine whose nvidia-smi gives no answer to some commands."""

    hangs: Sequence[str] = ()

    def _answer(self, argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        result = super()._answer(argv, timeout, cwd)
        return CommandResult(None, "", "", timed_out=True) if " ".join(argv) in self.hangs else result


def test_a_tool_that_hangs_is_not_called_again(tmp_path: Path) -> None:
    host = Hung(machine(), tmp_path)
    host.hangs = (QUERY, TOPOLOGY, VERSIONS, EVERYTHING)
    warnings: list[str] = []
    gpu = devices.read(host, warnings.append)
    assert gpu.devices == WITHOUT_TOOL
    assert len(warnings) == 1
    assert "nvidia-smi topo -m, nvidia-smi -q -d COMPUTE: no answer within 5 s; names" in warnings[0]
    assert EVERYTHING not in host.commands_run


def test_only_the_links_hang(tmp_path: Path) -> None:
    host = Hung(machine(), tmp_path)
    host.hangs = (TOPOLOGY,)
    warnings: list[str] = []
    gpu = devices.read(host, warnings.append)
    assert (gpu.devices, gpu.links, gpu.runtime_version) == (DEVICES, [], CUDA)
    assert warnings == ["nvidia-smi topo -m: no answer within 5 s; links are unknown"]
