# SPDX-License-Identifier: GPL-3.0-or-later
"""How AMD's GPUs are: ECC, links, throttling, by the vendor's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.health import (
    parse_bad_pages,
    parse_count,
    parse_features,
)
from ansible_collections.muster.train.plugins.module_utils._gpu.health import read_gpu_health
from ansible_collections.muster.train.plugins.module_utils._records.health import GpuHealth, GpuState
from ansible_collections.muster.train.tests.support.machines import Machine


def amd(**ras: str) -> dict[str, Any]:
    pci = "/sys/bus/pci/devices/0000:0c:00.0"
    files = {
        "/dev/kfd": "",
        "/dev/dri/renderD128": "",
        "/sys/class/kfd/kfd/topology/nodes/0/gpu_id": "1\n",
        "/sys/class/kfd/kfd/topology/nodes/0/properties": "simd_count 304\ndrm_render_minor 128\nlocation_id 3072\n",
        f"{pci}/current_link_width": "16\n",
        f"{pci}/max_link_width": "16\n",
        f"{pci}/current_link_speed": "32.0 GT/s PCIe\n",
        f"{pci}/max_link_speed": "32.0 GT/s PCIe\n",
    }
    return {"files": {**files, **{f"{pci}/ras/{name}": text for name, text in ras.items()}}}


def test_amd(tmp_path: Path) -> None:
    manifest = amd(
        features="feature mask: 0x1fff\n",
        umc_err_count="ue: 2\nce: 100\n",
        gfx_err_count="ue: 1\nce: 0\n",
        sdma_err_count="\n",
        gpu_vram_bad_pages="0x00000001 : 0x00001000 : R\n0x0000ab12 : 0x00001000 : P\n",
    )
    assert read_gpu_health(Machine(manifest, tmp_path)) == GpuHealth(
        [
            GpuState(
                0,
                "0000:0c:00.0",
                None,
                "enabled",
                None,
                3,
                link_width=16,
                link_width_max=16,
                link_gen=5,
                link_gen_max=5,
                bad_pages=2,
            )
        ]
    )


def test_an_amd_gpu_without_counters(tmp_path: Path) -> None:
    result = read_gpu_health(Machine(amd(), tmp_path)).devices
    assert result is not None
    assert (result[0].ecc_mode, result[0].ecc_uncorrected, result[0].bad_pages, result[0].link_width) == (
        None,
        None,
        None,
        16,
    )


def test_how_busy_an_amd_gpu_is(tmp_path: Path) -> None:
    pci = "/sys/bus/pci/devices/0000:0c:00.0"
    busy = {
        f"{pci}/gpu_busy_percent": "98\n",
        f"{pci}/mem_info_vram_used": f"{3 << 30}\n",
        f"{pci}/hwmon/hwmon4/temp2_input": "54500\n",
        f"{pci}/hwmon/hwmon4/temp3_input": "60000\n",
    }
    [state] = read_gpu_health(Machine({"files": {**amd()["files"], **busy}}, tmp_path)).devices or []
    assert (state.load_percent, state.memory_used_mib, state.temperature_c) == (98, 3072, 54)


def test_amd_parsers() -> None:
    assert [parse_count(text) for text in ("ue: 0\nce: 1\n", "ce: 1\nue: 5\n", "ue:x", "")] == [0, 5, None, None]
    assert [parse_features(text) for text in ("feature mask: 0x1", "feature mask: 0x2", "", "0x1")] == [
        "enabled",
        "disabled",
        None,
        None,
    ]
    assert parse_bad_pages("") == parse_bad_pages("0x1 : 0x1000 : X\n") == 0
