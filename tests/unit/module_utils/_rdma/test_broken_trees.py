# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices of which sysfs has nothing, garbage, loops, or files that may not be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._rdma.devices import read_rdma
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.rdma_ports import infiniband, only_port, read
from ansible_collections.muster.train.tests.support.rdma_trees import CLASS
from ansible_collections.muster.train.tests.support.unprivileged import as_nobody, needs_root, open_folder

UNREADABLE: dict[str, dict[str, Any]] = {
    "no /sys": {"directories": ["/proc"]},
    "a loop of links": {"links": {CLASS: "infiniband"}},
    "a file for a class": {"files": {CLASS: "x"}},
    "a class that cannot be listed": {"files": {f"{CLASS}/a/b": ""}, "errors": {CLASS: "EACCES"}},
}


@pytest.mark.parametrize("manifest", [{"directories": ["/sys"]}, {"directories": [CLASS]}, *UNREADABLE.values()])
def test_a_machine_without_devices(manifest: dict[str, Any], tmp_path: Path) -> None:
    rdma, warnings = read(manifest, tmp_path)
    unknown = manifest in UNREADABLE.values()
    assert (rdma.usable, rdma.hcas, len(warnings)) == (None if unknown else False, [], int(unknown))


def test_a_root_that_is_not_a_directory(tmp_path: Path) -> None:
    warnings: list[str] = []
    (tmp_path / "file").touch()
    for root in (tmp_path / "file", tmp_path / "no"):
        assert read_rdma(Host(str(root)), warnings.append).hcas == []
    assert len(warnings) == 2


def loop_of_links() -> dict[str, Any]:
    """A machine with one of whose devices is a loop of links; so is what leads to the PCI device of the other."""
    tree = infiniband()
    tree.manifest["links"][f"{CLASS}/mlx5_1"] = "mlx5_1"
    tree.manifest["links"][f"{tree.device('mlx5_0')}/device"] = "device"
    return tree.manifest


def test_a_device_that_is_a_loop_of_links(tmp_path: Path) -> None:
    rdma, warnings = read(loop_of_links(), tmp_path)
    assert [hca.name for hca in rdma.hcas] == ["mlx5_0", "mlx5_1"]
    assert rdma.hcas[0].ports[0].usable
    assert (rdma.hcas[1].ports, len(warnings)) == ([], 1)


def test_garbage_is_null(tmp_path: Path) -> None:
    tree = infiniband(rate="fast", lid="0x12a", sm_lid="1")
    for name in ("ports/1/lid", "ports/1/counters/link_downed", "ports/1/gids/0", "fw_ver", "ports/x/state"):
        tree.write("mlx5_0", name, "\0\ufffd" * 3000)
    tree.beside("mlx5_0", "vendor", "many words")
    tree.beside("mlx5_0", "numa_node", "near")
    port = only_port(tree, tmp_path)
    assert (port.rate_gbps, port.lid, port.counters, port.gids) == (None, None, {}, [])
    rdma, _warnings = read(tree.manifest, tmp_path / "again")
    assert (rdma.hcas[0].vendor_id, rdma.hcas[0].numa_node) == (None, None)


@needs_root
@pytest.mark.parametrize(
    ("closed", "names", "warning"),
    [
        ("sys/class/infiniband", [], f"the RDMA devices are unknown: {CLASS} cannot be listed"),
        ("sys/class", [], "the RDMA devices are unknown: /sys/class cannot be searched: permission denied"),
        (
            "sys/devices/pci0000:00/0000:00:01.0",
            ["mlx5_0"],
            "mlx5_0: /sys/devices/pci0000:00/0000:00:01.0 cannot be searched: permission denied",
        ),
        ("dev/infiniband/uverbs0", ["mlx5_0"], None),
    ],
)
def test_files_that_the_user_nobody_may_not_read(closed: str, names: list[str], warning: str | None) -> None:
    tree = infiniband()
    tree.manifest["files"]["/sys/class/infiniband_verbs/uverbs0/ibdev"] = "mlx5_0"
    tree.manifest["files"]["/dev/infiniband/uverbs0"] = ""
    with open_folder() as root:
        machine = Machine(tree.manifest, root)
        (root / closed).chmod(0)
        warnings: list[str] = []
        answer = as_nobody(lambda: [read_rdma(machine, warnings.append).to_dict(), warnings])
        (root / closed).chmod(0o755)
    rdma, messages = answer
    assert [hca["name"] for hca in rdma["hcas"]] == names
    assert messages == ([warning] if warning else [])
    if warning is None:
        reasons = ["/dev/infiniband/uverbs0 cannot be opened: permission denied"]
        assert rdma["hcas"][0]["ports"][0]["reasons"] == reasons
