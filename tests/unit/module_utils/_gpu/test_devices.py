# SPDX-License-Identifier: GPL-3.0-or-later
"""The GPUs of a node, whoever made them, and the HCAs near them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.devices import nearest_nics, read_gpu, read_presence
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu, Nearest, NicLink
from ansible_collections.muster.train.tests.support.amd_machines import KfdGpu
from ansible_collections.muster.train.tests.support.amd_machines import machine as amd_machine
from ansible_collections.muster.train.tests.support.machines import Machine, load
from ansible_collections.muster.train.tests.support.nvidia_machines import BUSES, TOPOLOGY, machine, table
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine

NEAREST = [Nearest(index, "PIX", [f"mlx5_{index // 2}"]) for index in range(4)]


def read(manifest: dict[str, Any], root: Path) -> tuple[Gpu, list[str]]:
    warnings: list[str] = []
    gpu = read_gpu(Machine(manifest, root), warnings.append)
    assert gpu is not None, warnings
    return gpu, warnings


def test_the_tool_and_the_bus_agree(tmp_path: Path) -> None:
    by_tool, warnings = read(machine(), tmp_path / "tool")
    assert (by_tool.nearest_nics, warnings) == (NEAREST, [])
    by_bus, warnings = read(machine(tool=False), tmp_path / "bus")
    assert by_bus.nearest_nics == NEAREST
    assert by_bus.nic_links == by_tool.nic_links
    assert len(warnings) == 1


def test_hcas_in_the_order_of_their_numbers_and_only_on_the_bus(tmp_path: Path) -> None:
    manifest = machine(tool=False)
    manifest["links"]["/sys/class/infiniband/mlx5_10/device"] = "../../../bus/pci/devices/0000:1a:00.0"
    manifest["links"]["/sys/class/infiniband/siw0/device"] = "../../../nowhere"
    manifest["directories"] = ["/sys/class/infiniband/rxe0"]
    gpu, _warnings = read(manifest, tmp_path)
    assert gpu.nearest_nics[0] == Nearest(0, "PIX", ["mlx5_0", "mlx5_10"])
    assert {link.nic for link in gpu.nic_links} == {"mlx5_0", "mlx5_1", "mlx5_10"}


def test_partitions_are_as_near_as_their_device(tmp_path: Path) -> None:
    """A partition has no PCI device of its own: its place is that of function 0."""
    manifest = amd_machine([KfdGpu(bus << 8 | part, bus, num_xcc=1) for bus in (0x05, 0x26) for part in range(3)])
    for bus, bridge in (("05", "01"), ("26", "03")):
        path = f"/sys/devices/pci0000:00/0000:00:{bridge}.0/0000:{bus}:00.0"
        for name in ("vendor", "class", "numa_node"):
            manifest["files"][f"{path}/{name}"] = manifest["files"].pop(f"/sys/bus/pci/devices/0000:{bus}:00.0/{name}")
        manifest.setdefault("links", {})[f"/sys/bus/pci/devices/0000:{bus}:00.0"] = f"../../../..{path}"
    hca = "/sys/devices/pci0000:00/0000:00:01.0/0000:06:00.0"
    manifest["files"][f"{hca}/numa_node"] = "0\n"
    manifest["links"]["/sys/bus/pci/devices/0000:06:00.0"] = f"../../../..{hca}"
    manifest["links"]["/sys/class/infiniband/bnxt_re0/device"] = f"../../../..{hca}"
    gpu, _warnings = read(manifest, tmp_path)
    assert gpu.nearest_nics == [Nearest(index, "PIX" if index < 3 else "PHB", ["bnxt_re0"]) for index in range(6)]


def test_nearest_is_the_closest_relation() -> None:
    links = [NicLink(0, "a", "SYS"), NicLink(0, "b", "PXB"), NicLink(0, "c", "PXB"), NicLink(1, "a", "SYS")]
    assert nearest_nics(links) == [Nearest(0, "PXB", ["b", "c"]), Nearest(1, "SYS", ["a"])]
    assert nearest_nics([NicLink(0, "a", "HT")]) == []
    assert nearest_nics([]) == []


@pytest.mark.parametrize(
    ("name", "presence"),
    [
        ("laptop", (None, 0)),
        ("hgx_h100", ("nvidia", 8)),
        ("mi300x", ("amd", 8)),
        ("container", ("nvidia", 0)),
    ],
)
def test_presence(tmp_path: Path, name: str, presence: tuple[str | None, int]) -> None:
    assert read_presence(load(name, tmp_path)) == presence
    warnings: list[str] = []
    gpu = read_gpu(load(name, tmp_path / "again"), warnings.append)
    assert gpu is not None and (gpu.vendor, gpu.count) == presence


@pytest.mark.parametrize("visible", ["/dev", "/sys"])
def test_no_gpu(tmp_path: Path, visible: str) -> None:
    assert read({"directories": [visible]}, tmp_path) == (Gpu(None, 0), [])


def test_where_nothing_can_be_seen_nothing_is_known(tmp_path: Path) -> None:
    """As of a container's host whose tree is not where `root` says."""
    warnings: list[str] = []
    assert read_gpu(Machine({}, tmp_path), warnings.append) is None
    assert len(warnings) == 1


def test_a_tool_without_a_gpu_is_not_missed(tmp_path: Path) -> None:
    manifest = {"directories": ["/dev"], "commands": {TOPOLOGY: {"rc": 9, "stdout": "NVIDIA-SMI has failed"}}}
    assert read(manifest, tmp_path) == (Gpu(None, 0), [])


SILENT = {"a tool that prints nonsense": (), "a tool that hangs": (TOPOLOGY,)}


def silent(root: Path, hangs: Sequence[str]) -> OwnMachine:
    manifest = {"directories": ["/dev"], "commands": {TOPOLOGY: {"stdout": "!?"}}}
    return OwnMachine(manifest, root, hangs)


@pytest.mark.parametrize("hangs", SILENT.values(), ids=SILENT)
def test_a_tool_that_prints_nonsense_or_hangs_is_reported(tmp_path: Path, hangs: Sequence[str]) -> None:
    host, warnings = silent(tmp_path, hangs), list[str]()
    assert read_gpu(host, warnings.append) == Gpu(None, 0)
    assert warnings
    if hangs:
        assert host.commands_run == [TOPOLOGY]


@pytest.mark.parametrize(("name", "vendors"), [("dgx_a100", ["nvidia"]), ("mi300x_bnxt", ["amd"]), ("laptop", [])])
def test_only_the_readers_of_the_vendor_are_imported(tmp_path: Path, name: str, vendors: list[str]) -> None:
    machine = load(name, tmp_path)
    package = read_gpu.__module__.rpartition("._gpu.")[0]
    # Without commands: what the tools say is of no matter here.
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        f"from {package}._gpu.devices import read_gpu\nfrom {package}._host.command import CommandResult\n"
        f"from {package}._host.host import Host\n"
        f"missing = CommandResult(None, '', '', missing=True)\n"
        f"read_gpu(Host({machine.root!r}, lambda argv, timeout, cwd: missing), lambda warning: None)\n"
        f"print([name for name in ('amd', 'nvidia') if '{package}._gpu.' + name + '.devices' in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(vendors)


def test_gpus_that_only_the_tool_shows(tmp_path: Path) -> None:
    """As in the Windows Subsystem for Linux: no device node, no PCI device of the vendor."""
    gpu, warnings = read({"commands": machine()["commands"]}, tmp_path)
    assert (gpu.vendor, gpu.count, [device.pci_address for device in gpu.devices], warnings) == (
        "nvidia",
        4,
        [f"0000:{bus}:00.0" for bus in BUSES],
        [],
    )


def test_only_the_table(tmp_path: Path) -> None:
    gpu, _warnings = read({"commands": {TOPOLOGY: {"rc": 0, "stdout": table()}}}, tmp_path)
    assert (gpu.vendor, gpu.count, [device.numa_node for device in gpu.devices]) == ("nvidia", 4, [0, 0, 1, 1])
    assert gpu.nearest_nics == NEAREST
