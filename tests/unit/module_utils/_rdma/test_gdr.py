# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel has for GPUDirect RDMA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._rdma.gdr import read_gdr
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gdr
from ansible_collections.muster.train.tests.support.machines import Machine

SYMBOL = "ffffffffc0a1b2c3 T ib_register_peer_memory_client\t[ib_core]\n"


@pytest.mark.parametrize(
    ("manifest", "present"),
    [
        ({}, set()),
        ({"directories": ["/sys/module/nvidia_peermem"]}, {"nvidia_peermem"}),
        ({"directories": ["/sys/module/nv_peer_mem"]}, {"nv_peer_mem"}),
        ({"files": {"/sys/kernel/mm/memory_peers/nv_mem/version": "1.2-0"}}, {"nvidia_peermem"}),
        ({"files": {"/sys/kernel/mm/memory_peers/nv_mem_nc/version": "1.2-0"}}, {"nvidia_peermem"}),
        (
            {
                "files": {"/sys/kernel/mm/memory_peers/nv_mem/version": "1.1-0"},
                "directories": ["/sys/module/nv_peer_mem"],
            },
            {"nv_peer_mem"},
        ),
        ({"files": {"/sys/kernel/mm/memory_peers/amdkfd/version": "1.0"}}, {"amd_peer"}),
        ({"files": {"/sys/memory_peers/amdkfd/version": "1.0"}}, {"amd_peer"}),
        ({"files": {"/proc/kallsyms": SYMBOL}, "directories": ["/sys/class/kfd"]}, {"amd_peer"}),
        # No AMD GPU: the symbol is that of others.
        ({"files": {"/proc/kallsyms": SYMBOL}}, set()),
    ],
)
def test_what_is_there(manifest: dict[str, Any], present: set[str], tmp_path: Path) -> None:
    gdr = read_gdr(Machine(manifest, tmp_path))
    assert {name for name in ("nvidia_peermem", "nv_peer_mem", "amd_peer") if getattr(gdr, name)} == present
    assert gdr.dmabuf is None


def test_without_sys_nothing_is_known(tmp_path: Path) -> None:
    assert read_gdr(Machine({}, tmp_path)) == Gdr(None, None, None, None)
    gdr = read_gdr(Machine({"directories": ["/sys"]}, tmp_path / "sys"))
    assert (gdr.nvidia_peermem, gdr.nv_peer_mem, gdr.amd_peer) == (False, False, False)
