# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel as RDMA and GPUs see it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.system import Kernel
from ansible_collections.muster.train.plugins.module_utils._system.kernel import (
    parse_chosen,
    parse_command_line,
    read_kernel,
)
from ansible_collections.muster.train.tests.support.machines import Machine


def test_a_gpu_host(tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/osrelease": "5.15.0-105-generic\n",
        "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1 ro iommu=pt amd_iommu=on pci=realloc=off quiet\n",
        "/proc/sys/kernel/numa_balancing": "1\n",
        "/sys/devices/system/node/online": "0-1\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "/sys/module/nvidia_peermem/version": "535.104.05\n",
        "/sys/module/ib_uverbs/refcnt": "9\n",
        "/sys/module/ib_core/parameters/netns_mode": "Y\n",
        "/sys/module/e1000e/refcnt": "0\n",
        "/sys/kernel/mm/memory_peers/nv_mem/version": "535.104.05\n",
    }
    assert read_kernel(Machine({"files": files}, tmp_path)) == Kernel(
        release="5.15.0-105-generic",
        command_line=["iommu=pt", "amd_iommu=on", "pci=realloc=off"],
        numa_balancing=1,
        numa_nodes=2,
        transparent_hugepage="madvise",
        modules=["ib_uverbs", "nvidia_peermem"],
        memory_peers=["nv_mem"],
        rdma_netns="shared",
    )


def test_a_machine_that_says_nothing(tmp_path: Path) -> None:
    assert read_kernel(Machine({}, tmp_path)) == Kernel()


def test_values_that_make_no_sense(tmp_path: Path) -> None:
    files = {
        "/proc/sys/kernel/numa_balancing": "on\n",
        "/sys/devices/system/node/online": "\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always\n",
        "/sys/module/ib_core/parameters/netns_mode": "?\n",
    }
    assert read_kernel(Machine({"files": files}, tmp_path)) == Kernel()


def test_this_kernel() -> None:
    assert read_kernel(Host()).release == os.uname().release


@pytest.mark.parametrize(
    ("text", "words"),
    [("iommu=off iommu=pt\n", ["iommu=off", "iommu=pt"]), ("nopci=1 pcie_aspm", ["pcie_aspm"]), ("", [])],
)
def test_parse_command_line(text: str, words: list[str]) -> None:
    assert parse_command_line(text) == words


@pytest.mark.parametrize(("text", "word"), [("[always] madvise", "always"), ("always", None), ("[]", None), ("", None)])
def test_parse_chosen(text: str, word: str | None) -> None:
    assert parse_chosen(text) == word
