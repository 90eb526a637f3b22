# SPDX-License-Identifier: GPL-3.0-or-later
"""How far PCI devices are from each other, from their real paths."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ansible_collections.muster.train.plugins.module_utils._host import pci
from ansible_collections.muster.train.plugins.module_utils._records.gpu import RELATIONS
from ansible_collections.muster.train.tests.support import captures
from ansible_collections.muster.train.tests.support.machines import Machine

ROOT = "/sys/devices/pci0000:2b/0000:2b:00.0"
SWITCH = f"{ROOT}/0000:2c:00.0/0000:2d:04.0"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:0c:00.0", "0000:0c:00.0"),
        ("00000000:0C:00.0", "0000:0c:00.0"),
        ("0c:00.0", "0000:0c:00.0"),
        (" 10000:e1:00.0\n", "10000:e1:00.0"),
        ("00010000:5E:00.0", "10000:5e:00.0"),
        ("0009:01:00.0", "0009:01:00.0"),
        ("[N/A]", None),
        ("0000:0c:00.8", None),
        ("mlx5_0", None),
        ("", None),
    ],
)
def test_addresses(text: str, address: str | None) -> None:
    assert pci.normalize(text) == address


def test_the_device_on_a_path() -> None:
    assert pci.address_in(f"{ROOT}/infiniband/mlx5_0") == "0000:2b:00.0"
    assert pci.address_in(f"{ROOT}/mlx5_core.sf.4/infiniband/mlx5_7") == "0000:2b:00.0"
    assert pci.address_in("../../../0000:0c:00.0") == "0000:0c:00.0"
    assert pci.address_in("/sys/devices/virtual/infiniband/rxe0") is None


@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        (f"{SWITCH}/0000:34:00.0", f"{SWITCH}/0000:35:00.0", "PIX"),
        (f"{SWITCH}/0000:33:00.0/0000:34:00.0", f"{SWITCH}/0000:33:10.0/0000:35:00.0", "PIX"),
        (f"{SWITCH}/0000:34:00.0", f"{SWITCH}/0000:33:10.0/0000:38:00.0/0000:39:00.0", "PXB"),
        (f"{ROOT}/0000:2c:00.0", "/sys/devices/pci0000:2b/0000:2b:01.0/0000:2e:00.0", "PHB"),
        ("/sys/devices/pci0000:00/0000:00:1f.0", "/sys/devices/pci0000:00/0000:00:1f.3", "PIX"),
        ("/sys/devices/pci0000:00/0000:00:1f.0", "/sys/devices/pci0000:00/0000:00:1e.0", "PHB"),
        (f"{ROOT}/0000:2c:00.0", f"{ROOT}/0000:2c:00.0", "PIX"),
    ],
)
def test_relations_below_one_root_bus(a: str, b: str, relation: str) -> None:
    assert pci.relation(a, b, None, None) == relation
    assert pci.relation(b, a, 0, 1) == relation


@pytest.mark.parametrize(
    ("numa_a", "numa_b", "relation"), [(0, 0, "NODE"), (0, 1, "SYS"), (None, None, "SYS"), (-1, -1, "SYS")]
)
def test_relations_across_root_buses(numa_a: int | None, numa_b: int | None, relation: str) -> None:
    other = "/sys/devices/pci0000:57/0000:57:00.0"
    assert pci.relation(ROOT, other, numa_a, numa_b) == relation
    assert pci.relation("", other, numa_a, numa_b) == relation


def pci_machine(paths: list[str], root: Path) -> Machine:
    """Return a machine with those devices, as the kernel lists them."""
    links = {f"{pci.DEVICES}/{path.rpartition('/')[2]}": "../../.." + path.removeprefix("/sys") for path in paths}
    return Machine({"directories": paths, "links": links}, root)


def test_real_paths(tmp_path: Path) -> None:
    machine = pci_machine([ROOT, f"{SWITCH}/0000:34:00.0"], tmp_path)
    assert pci.pci_path(machine, "00000000:34:00.0") == f"{SWITCH}/0000:34:00.0"
    assert pci.pci_path(machine, "0000:35:00.0") is None
    assert pci.pci_path(machine, "nonsense") is None


def hwloc_paths(element: ElementTree.Element, above: str = "", node: int | None = None) -> dict[str, tuple[str, Any]]:
    """Return path and NUMA node by address of the devices in hwloc's tree; a root bus goes by its first bus."""
    result = {}
    for child in element:
        here, numa = above, node
        if child.get("type") == "Package":
            numa = int(child.get("os_index", "0"))
        elif child.get("bridge_type") == "0-1":
            domain, _colon, buses = str(child.get("bridge_pci")).partition(":")
            here = f"/sys/devices/pci{domain}:{buses[1:3]}"
        elif child.get("pci_busid"):
            here = f"{above}/{child.get('pci_busid')}"
            if child.get("type") == "PCIDev":
                result[str(child.get("pci_busid"))] = (here, numa)
        result.update(hwloc_paths(child, here, numa))
    return result


@pytest.mark.parametrize("path", captures.captures("sysfs", only="hwloc"))
def test_the_pci_tree_of_hwloc(path: Path, tmp_path: Path) -> None:
    wanted = captures.expected(path)
    # The document type is hwloc's own, and not there.
    devices = hwloc_paths(ElementTree.fromstring(captures.text(path)))
    gpus = {address: devices[address] for address in wanted["gpu_pci"]}
    assert len(gpus) == wanted["gpu_count"]
    machine = pci_machine([place for place, _numa in gpus.values()], tmp_path)
    for address, place in wanted["sysfs_path_example"].items():
        assert pci.pci_path(machine, address) == place
    by_bus = {address.split(":")[1]: address for address in gpus}
    relations = {}
    for pair in wanted["pcie_relation"]:
        (a, numa_a), (b, numa_b) = (gpus[by_bus[bus]] for bus in pair.split("-"))
        relations[pair] = pci.relation(a, b, numa_a, numa_b)
    assert relations == wanted["pcie_relation"]
    for package, buses in wanted["packages"].items():
        assert {gpus[by_bus[bus]][1] for bus in buses} == {package}


def nccl_paths(text: str) -> dict[str, tuple[str, str, int]]:
    """Return class, path and NUMA node by address of the devices of an NCCL topology.

    NCCL's walk keeps one bridge of each switch, the port above: every device and switch gets its port below back. What
    lies directly below a CPU hangs on a root port of its own; all of one CPU on one root bus, since NCCL has no NODE.
    """
    result: dict[str, tuple[str, str, int]] = {}
    ports = (f"fffe:{bus:02x}:{slot:02x}.0" for bus, slot in itertools.product(range(256), range(32)))

    def walk(element: ElementTree.Element, above: str, numa: int) -> None:
        for child in element.findall("pci"):
            address = str(child.get("busid"))
            here = f"{above}/{next(ports)}/{address}"
            result[address] = (str(child.get("class")), here, numa)
            walk(child, here, numa)

    for cpu in ElementTree.fromstring(text).findall("cpu"):
        numa = int(cpu.get("numaid", "-1"))
        walk(cpu, f"/sys/devices/pci{numa:04x}:00", numa)
    return result


@pytest.mark.parametrize("path", captures.captures("nccl_xml"))
def test_the_nearest_nic_is_that_of_nccl(path: Path, tmp_path: Path) -> None:
    wanted = captures.expected(path)
    devices = nccl_paths(captures.text(path))
    machine = pci_machine([place for _class, place, _numa in devices.values()], tmp_path)
    gpus = [address for address, device in devices.items() if device[0][:6] in ("0x0300", "0x0302", "0x0380", "0x1200")]
    nics = [address for address, device in devices.items() if device[0].startswith("0x02")]
    assert (len(gpus), len(nics)) == (wanted["gpu_count"], wanted["nic_count"])
    nearest = {}
    for gpu in gpus:
        relations = {}
        for nic in nics:
            paths = [pci.pci_path(machine, address) for address in (gpu, nic)]
            assert paths == [devices[gpu][1], devices[nic][1]]
            relations[nic] = pci.relation(devices[gpu][1], devices[nic][1], devices[gpu][2], devices[nic][2])
        best = min(relations.values(), key=RELATIONS.index)
        nearest[gpu] = {"relation": best, "nic_pci": [nic for nic in nics if relations[nic] == best]}
    assert nearest == wanted["nearest_nic"]
