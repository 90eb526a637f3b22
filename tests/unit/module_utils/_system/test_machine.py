# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is by itself: identity, CPUs, limits, GPUs, systemd."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.devices import read_presence
from ansible_collections.muster.train.plugins.module_utils._records.node import Systemd
from ansible_collections.muster.train.plugins.module_utils._system.machine import (
    read_identity,
    read_systemd,
)
from ansible_collections.muster.train.tests.support.machines import Machine, load


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("laptop", (None, 0)),
        ("hgx_h100", ("nvidia", 8)),
        ("mi300x", ("amd", 8)),
        ("container", ("nvidia", 0)),  # they are in the machine, but not for us
    ],
)
def test_gpus(tmp_path: Path, name: str, gpu: tuple[str | None, int]) -> None:
    assert read_presence(load(name, tmp_path)) == gpu


def test_a_container_with_some_of_the_gpus(tmp_path: Path) -> None:
    properties = "/sys/class/kfd/kfd/topology/nodes/{}/properties"
    some = {
        properties.format(1): "simd_count 1216\ndrm_render_minor 128\n",
        properties.format(2): "simd_count 1216\ndrm_render_minor 129\n",
        properties.format(3): "",  # the kernel shows nothing of a device that the cgroup forbids
        properties.format(4): "simd_count many\ndrm_render_minor\n",
        "/dev/kfd": "",
        "/dev/dri/renderD129": "",
    }
    assert read_presence(Machine({"files": some}, tmp_path)) == ("amd", 1)


def test_an_integrated_amd_gpu_beside_one_that_trains(tmp_path: Path) -> None:
    both = {
        "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
        "/sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n",
        "/sys/bus/pci/devices/0000:0b:00.0/vendor": "0x1002\n",
        "/sys/bus/pci/devices/0000:0b:00.0/class": "0x030000\n",
        "/dev/nvidia0": "",
        "/dev/nvidiactl": "",
        "/dev/nvidia-modeset": "",
    }
    assert read_presence(Machine({"files": both}, tmp_path)) == ("nvidia", 1)


def test_identity(tmp_path: Path) -> None:
    identity = read_identity(load("laptop", tmp_path / "a"))
    assert identity.hostname == "laptop"
    assert identity.machine_id == "5f0a4c1d2e3b4a5968778695a4b3c2d1"
    assert identity.boot_id == "0a4f2b6c-1d3e-4f50-8a6b-7c8d9e0f1a2b"
    assert identity.mark == "5f0a4c1d2e3b4a5968778695a4b3c2d1/0a4f2b6c-1d3e-4f50-8a6b-7c8d9e0f1a2b"


def test_identity_of_a_container_without_a_machine_id(tmp_path: Path) -> None:
    identity = read_identity(load("container", tmp_path))
    assert identity.machine_id is None
    assert identity.mark == "-/7d1f9f0c-64d2-4a43-9a3e-3a2f1b0c9d8e"


def test_identity_of_nothing(tmp_path: Path) -> None:
    identity = read_identity(Machine({}, tmp_path))
    assert (identity.hostname, identity.mark) == (os.uname().nodename, None)


def test_a_machine_id_that_systemd_has_yet_to_write_is_none(tmp_path: Path) -> None:
    files = {"/etc/machine-id": "uninitialized\n", "/var/lib/dbus/machine-id": "aa1d2e3f4a5b46778899aabbccddee01\n"}
    assert read_identity(Machine({"files": files}, tmp_path)).machine_id == "aa1d2e3f4a5b46778899aabbccddee01"


def test_what_ends_with_a_session(tmp_path: Path) -> None:
    """The strongest logind.conf and the drop-ins, by their names, the strongest of one name."""
    files = {
        "/run/systemd/system/x": "",
        "/etc/systemd/logind.conf": "[Login]\n#KillUserProcesses=no\n RemoveIPC = no\n",
        "/usr/lib/systemd/logind.conf": "KillUserProcesses=yes\n",
        "/usr/lib/systemd/logind.conf.d/10-site.conf": "KillUserProcesses=maybe\nRemoveIPC=no\n",
        "/run/systemd/logind.conf.d/20-more.conf": "KillUserProcesses=on\nKillExcludeUsers=\n",
        "/etc/systemd/logind.conf.d/10-site.conf": "RemoveIPC=yes\n",
        "/etc/systemd/logind.conf.d/readme": "RemoveIPC=no\n",
    }
    systemd = read_systemd(Machine({"files": files}, tmp_path / "a"))
    assert (systemd.kill_user_processes, systemd.remove_ipc) == (True, True)
    files = {"/run/systemd/system/x": "", "/usr/lib/systemd/logind.conf": "RemoveIPC=no\n"}
    systemd = read_systemd(Machine({"files": files}, tmp_path / "b"))
    assert (systemd.kill_user_processes, systemd.remove_ipc) == (None, False)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("0::/user.slice/user-1000.slice/session-4.scope\n", True),
        ("4:memory:/user.slice\n1:name=systemd:/user.slice/user-1000.slice/user@1000.service/tmux.scope\n", True),
        ("0::/system.slice/ssh.service\n", False),  # without PAM
        ("0::/system.slice/slurmstepd.scope/job_7/step_extern/user/task_special\n", False),  # pam_slurm_adopt
        (None, None),
    ],
)
def test_whether_the_login_is_in_a_session(groups: str | None, expected: bool | None, tmp_path: Path) -> None:
    files = {"/run/systemd/system/x": "", **({} if groups is None else {"/proc/self/cgroup": groups})}
    assert read_systemd(Machine({"files": files}, tmp_path)).in_session is expected


def test_systemd(tmp_path: Path) -> None:
    laptop = load("laptop", tmp_path / "a")
    assert read_systemd(laptop) == Systemd(booted=True, linger=False)
    (tmp_path / "a/var/lib/systemd/linger").mkdir(parents=True)
    (tmp_path / "a/var/lib/systemd/linger" / laptop.user_name()).touch()
    assert read_systemd(laptop) == Systemd(booted=True, linger=True)
    assert read_systemd(load("container", tmp_path / "b")) == Systemd(booted=False, linger=False)
