# SPDX-License-Identifier: GPL-3.0-or-later
"""Which RDMA devices can be opened, and which were granted to a pod."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._rdma import uverbs
from ansible_collections.muster.train.tests.support.machines import Machine

DEVICE = "/sys/devices/pci0000:00/0000:01:00.0"
IN_CLASS = {"/sys/class/infiniband_verbs/uverbs3/ibdev": "mlx5_0\n"}
IN_DEVICE = {f"{DEVICE}/infiniband_verbs/uverbs3/dev": "231:195\n"}
CLOSED: dict[str, dict[str, Any]] = {
    "the nodes of others": {"files": {**IN_DEVICE, "/dev/infiniband/uverbs0": ""}},
    "a container without a node": {"files": {**IN_CLASS, "/dev/null": ""}},
    "a container without a node and a class": {"files": {"/dev/null": ""}},
    "a device that ib_uverbs does not serve": {
        "files": {"/sys/class/infiniband_verbs/uverbs0/ibdev": "mlx5_1", "/dev/infiniband/uverbs0": ""}
    },
    "a node that the cgroup forbids": {"files": IN_CLASS, "errors": {"/dev/infiniband/uverbs3": "EPERM"}},
}


def node_of(manifest: dict[str, Any], root: Path) -> tuple[str | None, str | None]:
    """The node of a device, and why it cannot be opened."""
    machine = Machine(manifest, root)
    return uverbs.node_of(machine, "mlx5_0", uverbs.read_nodes(machine), [DEVICE])


@pytest.mark.parametrize("manifest", CLOSED.values(), ids=CLOSED)
def test_a_device_that_cannot_be_opened(manifest: dict[str, Any], tmp_path: Path) -> None:
    node, why = node_of(manifest, tmp_path)
    assert (node, bool(why)) == ("/dev/infiniband/uverbs3" if "errors" in manifest else None, True)


@pytest.mark.parametrize(
    ("files", "node"),
    [
        ({**IN_CLASS, "/dev/infiniband/uverbs3": ""}, "/dev/infiniband/uverbs3"),
        ({**IN_DEVICE, "/dev/infiniband/uverbs3": ""}, "/dev/infiniband/uverbs3"),
        # A tree that holds no /dev, or says nothing of uverbs.
        (IN_CLASS, None),
        ({}, None),
        ({"/dev/infiniband/uverbs0": ""}, None),
    ],
)
def test_the_device_node(files: dict[str, str], node: str | None, tmp_path: Path) -> None:
    assert node_of({"files": files}, tmp_path) == (node, None)


def test_the_node_of_another_device_on_the_same_pci_function_is_not_ours(tmp_path: Path) -> None:
    files = {"/sys/class/infiniband_verbs/uverbs3/ibdev": "rxe0", "/dev/infiniband/uverbs3": "", **IN_DEVICE}
    assert node_of({"files": files}, tmp_path)[0] is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything; test_broken_trees.py does it as nobody")
def test_a_node_that_the_mode_forbids(tmp_path: Path) -> None:
    machine = Machine({"files": {**IN_CLASS, "/dev/infiniband/uverbs3": ""}}, tmp_path)
    (tmp_path / "dev/infiniband/uverbs3").chmod(0o400)
    node, why = uverbs.node_of(machine, "mlx5_0", uverbs.read_nodes(machine), [])
    assert (node, bool(why)) == ("/dev/infiniband/uverbs3", True)


INFO = '{"0000:1a:00.5":{"generic":{"deviceID":"0000:1a:00.5"},"rdma":{"rdma_dev":"mlx5_18"}}}'


@pytest.mark.parametrize(
    ("environment", "addresses", "hcas"),
    [
        ("", set(), set()),
        ("PATH=/bin\0PCIDEVICE_X_Y=0000:1A:00.5,0000:1b:00.1\0", {"0000:1a:00.5", "0000:1b:00.1"}, set()),
        (f"PCIDEVICE_X_Y_INFO={INFO}\0HOME=/", {"0000:1a:00.5"}, {"mlx5_18"}),
        ("PCIDEVICE_X_Y_INFO={broken\0PCIDEVICE_Z=", set(), set()),
        ('PCIDEVICE_X_INFO={"0000:1a:00.5":[1],"no":{"rdma":7},"b":{"rdma":{"rdma_dev":8}}}', {"0000:1a:00.5"}, set()),
        ("PCIDEVICE_X_INFO=[1,2]", set(), set()),
        ("PCIDEVICE_X_INFO=" + "[" * 100_000, set(), set()),
        ("NOT_PCIDEVICE_X=0000:1a:00.5", set(), set()),
    ],
)
def test_grants(environment: str, addresses: set[str], hcas: set[str]) -> None:
    assert uverbs.parse_grants(environment) == uverbs.Grants(frozenset(addresses), frozenset(hcas))


@pytest.mark.parametrize(
    ("environ", "hcas", "refused"),
    [
        ("", {"mlx5_0": "0000:01:00.0"}, []),
        ("PCIDEVICE_A=0000:01:00.2\0", {"mlx5_0": "0000:01:00.0", "mlx5_1": "0000:01:00.2"}, ["mlx5_0"]),
        # Granted by name, seen under another address.
        (f"PCIDEVICE_A_INFO={INFO}\0", {"mlx5_0": "0000:01:00.0", "mlx5_18": "0000:77:00.0"}, ["mlx5_0"]),
        # Nothing of ours: devices for DPDK.
        ("PCIDEVICE_A=0000:99:00.2\0", {"mlx5_0": "0000:01:00.0"}, []),
        # An HCA was granted, and is not here.
        (f"PCIDEVICE_A_INFO={INFO}\0", {"mlx5_0": "0000:01:00.0", "rxe0": None}, ["mlx5_0"]),
    ],
)
def test_what_was_not_granted(environ: str, hcas: dict[str, Any], refused: list[str], tmp_path: Path) -> None:
    machine = Machine({"files": {"/proc/self/environ": environ}}, tmp_path)
    grants = uverbs.read_grants(machine, hcas)
    whys = {name: grants.why_not(name, address) for name, address in hcas.items()}
    assert [name for name, why in whys.items() if why is not None] == refused
