# SPDX-License-Identifier: GPL-3.0-or-later
"""The AMD GPUs of whole machines: MI300X whole and in partitions, MI250 dies, cards, pods."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.devices import present, read
from ansible_collections.muster.train.plugins.module_utils._host.pci import physical
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device, Gpu, Link
from ansible_collections.muster.train.tests.support.amd_machines import (
    MI300X_BUSES,
    NODES,
    PCI,
    KfdGpu,
    machine,
    mi250,
    mi300x,
    mi300x_cpx,
    properties,
)
from ansible_collections.muster.train.tests.support.machines import Machine, load

Look = Callable[[dict[str, Any]], tuple[Gpu, list[str]]]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    def _look(manifest: dict[str, Any]) -> tuple[Gpu, list[str]]:
        host = Machine(manifest, tmp_path)
        warnings: list[str] = []
        gpu = read(host, warnings.append)
        assert gpu.count == len(gpu.devices) == present(host)
        return gpu, warnings

    return _look


def test_mi300x(look: Look) -> None:
    gpu, warnings = look(mi300x())
    assert (gpu.vendor, gpu.count, warnings) == ("amd", 8, [])
    assert (gpu.driver_version, gpu.runtime_version) == ("6.8.5", "6.2.4-139")
    assert gpu.devices[5] == Device(
        index=5,
        name="AMD Instinct MI300X OAM",
        uuid="GPU-00000000000000a5",
        pci_address="0000:a6:00.0",
        numa_node=1,
        memory_mib=196592,
        partition="SPX",
    )
    assert gpu.links == [Link(a, b, "XGMI") for a in range(8) for b in range(a + 1, 8)]
    assert (gpu.nics, gpu.nic_links, gpu.nearest_nics) == ({}, [], [])


def test_mi300x_in_cpx(look: Look) -> None:
    gpu, warnings = look(mi300x_cpx())
    assert (gpu.count, len(gpu.links), warnings) == (64, 64 * 63 // 2, [])
    assert [device.index for device in gpu.devices] == list(range(64))
    addresses = [f"0000:{bus:02x}:00.{part}" for bus in MI300X_BUSES for part in range(8)]
    assert [device.pci_address for device in gpu.devices] == addresses
    assert {(device.partition, device.memory_mib) for device in gpu.devices} == {("CPX", 24574)}
    assert {physical(device.pci_address or "") for device in gpu.devices} == {
        f"0000:{b:02x}:00.0" for b in MI300X_BUSES
    }
    assert [device.numa_node for device in gpu.devices] == [0] * 32 + [1] * 32
    assert gpu.devices[63].name == "AMD Instinct MI300X OAM"


def test_mi250_has_two_devices_per_card(look: Look) -> None:
    manifest = mi250()
    static = [
        {"gpu": index, "asic": {"market_name": "AMD Instinct MI250X"}, "bus": {"bdf": f"0000:{bus:02x}:00.0"}}
        for index, bus in enumerate((0xC1, 0xC6, 0xC9, 0xCE, 0xD1, 0xD6, 0xD9, 0xDE))
    ]
    manifest["commands"] = {"amd-smi static --asic --bus --json": {"stdout": json.dumps({"gpu_data": static})}}
    gpu, warnings = look(manifest)
    assert (gpu.count, warnings) == (8, [])
    assert {device.name for device in gpu.devices} == {"AMD Instinct MI250X"}
    assert {(device.partition, device.memory_mib) for device in gpu.devices} == {(None, 65520)}
    assert {link.relation for link in gpu.links} == {"XGMI"}
    assert len(gpu.links) == 28


def test_without_fru_and_tool_the_name_is_the_instruction_set(look: Look) -> None:
    gpu, warnings = look(mi250())
    assert {device.name for device in gpu.devices} == {"gfx90a"}
    assert len(warnings) == 1


def container() -> dict[str, Any]:
    """A machine of which a container has two GPUs."""
    manifest = mi300x()
    for node in (2, 3, 4, 7, 8, 9):
        manifest["files"][f"{NODES}/{node}/properties"] = ""
        del manifest["files"][f"/dev/dri/renderD{126 + node}"]
    return manifest


def test_a_container_has_the_gpus_it_was_given(look: Look) -> None:
    gpu, warnings = look(container())
    assert [(device.index, device.pci_address) for device in gpu.devices] == [(0, "0000:65:00.0"), (1, "0000:85:00.0")]
    assert (gpu.links, len(warnings)) == ([Link(0, 1, "XGMI")], 1)


def test_a_gpu_without_its_render_node_cannot_be_opened(look: Look) -> None:
    manifest = mi300x()
    del manifest["files"]["/dev/dri/renderD128"]
    assert [device.pci_address for device in look(manifest)[0].devices][:1] == ["0000:26:00.0"]


def test_without_the_driver_s_device_there_are_none(look: Look) -> None:
    manifest = mi300x()
    del manifest["files"]["/dev/kfd"]
    assert look(manifest) == (Gpu("amd", 0, "6.8.5", "6.2.4-139"), [])


@pytest.mark.parametrize(
    ("parts", "num_xcc", "hidden", "mode"),
    [
        (range(1), 8, False, "SPX"),
        (range(1), 8, True, None),  # it may be one of two with eight each
        (range(1), 1, False, None),
        (range(2), 4, False, "DPX"),
        (range(3), 2, False, "TPX"),
        (range(4), 2, False, "QPX"),
        (range(4), 2, True, None),
        (range(8), 1, False, "CPX"),
        ([3], 1, True, "CPX"),
    ],
)
def test_the_mode_of_partitions_where_the_driver_does_not_say_it(
    look: Look, parts: list[int], num_xcc: int, hidden: bool, mode: str | None
) -> None:
    manifest = machine([KfdGpu(0x0500 | part, 7, num_xcc=num_xcc) for part in parts])
    if hidden:
        manifest["files"][f"{NODES}/99/properties"] = ""
    assert {device.partition for device in look(manifest)[0].devices} == {mode}


@pytest.mark.parametrize(("text", "mode"), [("CPX\n", "CPX"), ("DPX\n", "DPX"), ("\n", "CPX"), ("?\n", "CPX")])
def test_the_driver_s_word_for_the_mode_comes_first(look: Look, text: str, mode: str) -> None:
    manifest = machine([KfdGpu(0x0500 | part, 7, num_xcc=1) for part in range(2)])
    manifest["files"][f"{PCI}/0000:05:00.0/current_compute_partition"] = text
    manifest["files"][f"{PCI}/0000:05:00.0/mem_info_vram_total"] = "206141652992\n"
    devices = look(manifest)[0].devices
    assert [device.partition for device in devices] == [mode, mode]
    assert [device.memory_mib for device in devices] == [None, None]  # the share is not known, the whole is not theirs


def test_cards_on_the_bus(look: Look) -> None:
    manifest = machine([KfdGpu(bus << 8, 0, bus // 2, 0, 1, 110000) for bus in (1, 2)])
    manifest["files"][f"{PCI}/0000:01:00.0/numa_node"] = "-1\n"
    del manifest["files"][f"{PCI}/0000:02:00.0/numa_node"]
    gpu, _warnings = look(manifest)
    assert gpu.links == [Link(0, 1, "PCIE")]
    assert [(device.name, device.uuid, device.numa_node) for device in gpu.devices] == [
        ("gfx1100", None, None),
        ("gfx1100", None, 1),
    ]


def test_links_that_kfd_lacks_come_from_the_tool(look: Look) -> None:
    manifest = machine([KfdGpu(bus << 8, bus, 0, 0) for bus in (1, 2, 3)])
    for node in (2, 3, 4):
        del manifest["files"][f"{NODES}/{node}/io_links/0/properties"]
        manifest["files"][f"{PCI}/0000:0{node - 1}:00.0/product_name"] = "AMD Instinct MI100\n"
    links = [
        {"gpu": 0, "bdf": "0000:02:00.0", "link_type": "XGMI"},
        {"gpu": 1, "bdf": "0000:01:00.0", "link_type": "SELF"},
        {"gpu": 2, "bdf": "0000:03:00.0", "link_type": "N/A"},
    ]
    answer = json.dumps([{"gpu": 1, "bdf": "0000:01:00.0", "links": links}])
    manifest["commands"] = {"amd-smi topology --json": {"stdout": answer}}
    gpu, warnings = look(manifest)
    assert (gpu.links, warnings) == ([Link(0, 1, "XGMI")], [])


def test_nodes_without_a_place_are_devices_without_an_address(tmp_path: Path) -> None:
    host = load("mi300x", tmp_path)
    gpu = read(host, lambda message: None)
    assert (gpu.count, present(host)) == (8, 8)
    assert {device.pci_address for device in gpu.devices} == {None}


def test_unreadable_files_are_facts_that_are_not_known(look: Look) -> None:
    manifest = mi300x()
    unreadable = [f"{PCI}/0000:05:00.0/{name}" for name in ("product_name", "current_compute_partition", "numa_node")]
    unreadable += [f"{NODES}/2/mem_banks/0/properties", f"{PCI}/0000:05:00.0/mem_info_vram_total"]
    for path in unreadable:
        del manifest["files"][path]
    manifest["errors"] = dict.fromkeys(unreadable, "EINVAL")
    manifest["links"] = {f"{NODES}/2/p2p_links": "p2p_links"}
    device = look(manifest)[0].devices[0]
    assert (device.name, device.memory_mib, device.numa_node) == ("gfx942", None, 0)
    assert device.partition == "SPX"


def test_odd_numbers_raise_no_exception(look: Look) -> None:
    manifest = mi300x()
    manifest["files"][f"{NODES}/2/properties"] = properties(
        simd_count=1, location_id=10**30, domain=-5, unique_id=10**40, gfx_target_version=10**12, drm_render_minor=128
    )
    manifest["files"][f"{PCI}/0000:05:00.0/mem_info_vram_total"] = "9" * 400
    assert look(manifest)[0].count == 8
