# SPDX-License-Identifier: GPL-3.0-or-later
"""Device nodes and who may use them."""

from __future__ import annotations

import os
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.health import DeviceFile
from ansible_collections.muster.train.plugins.module_utils._system.device_nodes import read_devices
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.unprivileged import as_nobody, needs_root, open_folder

NODES = ("nvidia0", "nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "dri/card0", "dri/renderD128", "null", "kfd")


def test_those_of_gpus_and_adapters_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    files = {
        f"/dev/{name}": "" for name in (*NODES, "nvidia-caps/nvidia-cap1", "infiniband/uverbs0", "infiniband/umad0")
    }
    host = Machine({"files": files}, tmp_path)
    (tmp_path / "dev/nvidia0").chmod(0o660)
    result = read_devices(host)
    assert [device.path for device in result] == [
        *("/dev/kfd", "/dev/nvidia0", "/dev/nvidia2", "/dev/nvidia10", "/dev/nvidia-uvm", "/dev/nvidiactl"),
        *("/dev/dri/renderD128", "/dev/infiniband/umad0", "/dev/infiniband/uverbs0"),
    ]
    assert result[1] == DeviceFile("/dev/nvidia0", "0660", os.geteuid(), os.getegid(), True, True)


def test_links_and_nothing(tmp_path: Path) -> None:
    host = Machine({"links": {"/dev/nvidia0": "/dev/none"}}, tmp_path / "a")
    assert read_devices(host) == [DeviceFile("/dev/nvidia0")]
    assert read_devices(Machine({}, tmp_path / "b")) == []


@needs_root
def test_a_group_without_the_user() -> None:
    with open_folder() as folder:
        (folder / "dev").mkdir()
        (folder / "dev/kfd").touch()
        (folder / "dev/kfd").chmod(0o640)

        def look() -> list[object]:
            device = read_devices(Host(str(folder)))[0]
            return [device.mode, device.uid, device.readable, device.writable]

        assert as_nobody(look) == ["0640", 0, False, False]
        (folder / "dev/kfd").chmod(0o644)
        assert as_nobody(look) == ["0644", 0, True, False]
