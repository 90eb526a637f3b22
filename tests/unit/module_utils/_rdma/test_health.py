# SPDX-License-Identifier: GPL-3.0-or-later
"""What surrounds the RDMA devices: IOMMU, the bridges above them, programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._rdma.health import (
    parse_acs_redirects,
    read_rdma_health,
)
from ansible_collections.muster.train.plugins.module_utils._records.health import RdmaHealth
from ansible_collections.muster.train.tests.support.machines import Machine

ROOT_PORT, SWITCH, NIC = "0000:2b:00.0", "0000:2c:00.0", "0000:2d:00.0"
DEVICES = "/sys/devices/pci0000:2b"
PLACES = {
    ROOT_PORT: f"{DEVICES}/{ROOT_PORT}",
    SWITCH: f"{DEVICES}/{ROOT_PORT}/{SWITCH}",
    NIC: f"{DEVICES}/{ROOT_PORT}/{SWITCH}/{NIC}",
}


def config(*capabilities: tuple[int, int, int], size: int = 4096) -> bytes:
    """A configuration space: of each extended capability its place, its ID and its third word of 16 bits (control)."""
    space = bytearray(size)
    places = [place for place, _id, _control in capabilities]
    for (place, number, control), following in zip(capabilities, [*places[1:], 0]):
        space[place : place + 4] = (following << 20 | 1 << 16 | number).to_bytes(4, "little")
        space[place + 6 : place + 8] = control.to_bytes(2, "little")
    return bytes(space)


AER = (0x100, 0x0001, 0xFFFF)


@pytest.mark.parametrize(
    ("space", "redirects"),
    [
        (config(AER, (0x148, 0x000D, 0x1D)), True),  # as lspci: SrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+
        (config((0x148, 0x000D, 0x1D)), False),  # the list begins at 0x100, with nothing
        (config((0x100, 0x000D, 0x08)), True),
        (config((0x100, 0x000D, 0x11)), False),  # SrcValid+ UpstreamFwd+ alone
        (config(AER, (0x148, 0x000D, 0)), False),
        (config(AER), False),
        (config(AER, (0x148, 0x0002, 0), (0x100, 0x0001, 0)), False),  # a circle
        (bytes(256), False),  # conventional PCI
        (b"\xff" * 4096, False),  # a device that does not answer
        (bytes(64), None),
        (b"", None),
    ],
)
def test_bridges_that_redirect(space: bytes, redirects: bool | None) -> None:
    assert parse_acs_redirects(space) is redirects


def machine(root: Path, group: str = "DMA-FQ") -> Machine:
    """A machine whose root port redirects, while only root may read the switch."""
    manifest: dict[str, Any] = {
        "links": {
            **{f"/sys/bus/pci/devices/{address}": f"../../..{path[4:]}" for address, path in PLACES.items()},
            "/sys/class/infiniband/mlx5_0": f"../..{PLACES[NIC][4:]}/infiniband/mlx5_0",
            f"{PLACES[NIC]}/infiniband/mlx5_0/device": f"../../../{NIC}",
            f"{PLACES[NIC]}/iommu_group": "../../../../../kernel/iommu_groups/7",
        },
        "files": {
            "/sys/kernel/iommu_groups/7/type": f"{group}\n",
            f"{PLACES[SWITCH]}/config": "\0" * 64,
            "/usr/bin/ibstat": "",
        },
        "directories": ["/sys/devices/virtual/infiniband/rxe0"],
    }
    manifest["links"]["/sys/class/infiniband/rxe0"] = "../../devices/virtual/infiniband/rxe0"
    made = Machine(manifest, root)
    (root / PLACES[ROOT_PORT][1:] / "config").write_bytes(config(AER, (0x148, 0x000D, 0x1D)))
    return made


def test_what_surrounds_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/sbin:/usr/bin")
    assert read_rdma_health(machine(tmp_path)) == RdmaHealth(
        iommu={NIC: "DMA-FQ"},
        acs_redirects={ROOT_PORT: True, SWITCH: None},
        tools={"ibstat": "/usr/bin/ibstat"},
    )


def test_a_machine_without_devices(tmp_path: Path) -> None:
    health = read_rdma_health(Machine({}, tmp_path))
    assert (health.iommu, health.acs_redirects) == ({}, {})
