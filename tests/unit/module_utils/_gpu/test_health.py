# SPDX-License-Identifier: GPL-3.0-or-later
"""How NVIDIA's GPUs are: ECC, links, throttling, by the vendor's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.health import read_gpu_health
from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia.health import (
    EVERYTHING,
    FABRIC_MANAGER,
    NVLINKS,
    parse_nvlinks,
    parse_states,
)
from ansible_collections.muster.train.plugins.module_utils._records.health import FabricManager, GpuHealth, GpuState
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine, answer

SMI, LINKS, MANAGER = map(" ".join, (EVERYTHING, NVLINKS, FABRIC_MANAGER))
UUID = "GPU-00000000-1111-2222-3333-444444444444"


def gpu(bus: str = "1B", **parts: str) -> str:
    """Return a GPU of -q -x as drivers since 535 print it; parts replace the whole of an element."""
    facts = {
        "uuid": f"<uuid>{UUID}</uuid>",
        "persistence": "<persistence_mode>Enabled</persistence_mode>",
        "fabric": "<fabric><state>Completed</state><status>Success</status></fabric>",
        "link": (
            "<pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>5</current_link_gen></pcie_gen>"
            "<link_widths><max_link_width>16x</max_link_width><current_link_width>16x</current_link_width></link_widths>"
            "</pci_gpu_link_info>"
        ),
        "reasons": (
            "<clocks_event_reasons><clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>"
            "<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown></clocks_event_reasons>"
        ),
        "mode": "<ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>Enabled</pending_ecc></ecc_mode>",
        "errors": (
            "<ecc_errors><volatile><sram_correctable>4</sram_correctable><sram_uncorrectable_parity>0"
            "</sram_uncorrectable_parity><sram_uncorrectable_secded>0</sram_uncorrectable_secded>"
            "<dram_uncorrectable>0</dram_uncorrectable></volatile>"
            "<aggregate><dram_uncorrectable>7</dram_uncorrectable></aggregate></ecc_errors>"
        ),
        "rows": (
            "<remapped_rows><remapped_row_corr>2</remapped_row_corr><remapped_row_unc>1</remapped_row_unc>"
            "<remapped_row_pending>No</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>"
        ),
        "temperature": "<temperature><gpu_temp>34 C</gpu_temp></temperature>",
        "memory": "<fb_memory_usage><total>81559 MiB</total><used>1024 MiB</used></fb_memory_usage>",
        "load": "<utilization><gpu_util>97 %</gpu_util><memory_util>3 %</memory_util></utilization>",
    }
    facts.update(parts)
    link = facts.pop("link")
    pci = f"<pci><pci_bus_id>00000000:{bus}:00.0</pci_bus_id>{link}</pci>"
    return f'<gpu id="00000000:{bus}:00.0">{pci}{"".join(facts.values())}</gpu>'


def log(*gpus: str) -> str:
    head = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
    return f"{head}<nvidia_smi_log><driver_version>570.124.06</driver_version>{''.join(gpus)}</nvidia_smi_log>\n"


GOOD = GpuState(
    index=0,
    pci_address="0000:1b:00.0",
    uuid=UUID,
    ecc_mode="enabled",
    ecc_pending="enabled",
    ecc_uncorrected=0,
    remap_pending=False,
    remap_failure=False,
    link_width=16,
    link_width_max=16,
    link_gen=5,
    link_gen_max=5,
    throttle=[],
    persistence=True,
    temperature_c=34,
    load_percent=97,
    memory_used_mib=1024,
    fabric_state="Completed",
)


def test_a_good_one() -> None:
    assert parse_states(log(gpu())) == [GOOD]


@pytest.mark.parametrize(
    ("part", "text", "field", "value"),
    [
        (
            "mode",
            "<ecc_mode><current_ecc>Disabled</current_ecc><pending_ecc>Enabled</pending_ecc></ecc_mode>",
            "ecc_mode",
            "disabled",
        ),
        (
            "errors",
            "<ecc_errors><volatile><sram_uncorrectable>1</sram_uncorrectable><dram_uncorrectable>2</dram_uncorrectable>"
            "</volatile></ecc_errors>",
            "ecc_uncorrected",
            3,
        ),
        (
            "errors",
            "<ecc_errors><volatile><single_bit><total>9</total></single_bit><double_bit><device_memory>5</device_memory>"
            "<total>5</total></double_bit></volatile></ecc_errors>",
            "ecc_uncorrected",
            5,
        ),
        (
            "errors",
            "<ecc_errors><volatile><dram_uncorrectable>N/A</dram_uncorrectable></volatile></ecc_errors>",
            "ecc_uncorrected",
            None,
        ),
        ("errors", "", "ecc_uncorrected", None),
        (
            "rows",
            "<remapped_rows><remapped_row_pending>Yes</remapped_row_pending></remapped_rows>",
            "remap_pending",
            True,
        ),
        (
            "rows",
            "<remapped_rows><remapped_row_failure>Yes</remapped_row_failure></remapped_rows>",
            "remap_failure",
            True,
        ),
        ("rows", "<remapped_rows>N/A</remapped_rows>", "remap_pending", None),
        (
            "link",
            "<pci_gpu_link_info><link_widths><current_link_width>8x</current_link_width></link_widths></pci_gpu_link_info>",
            "link_width",
            8,
        ),
        ("link", "<pci_gpu_link_info>N/A</pci_gpu_link_info>", "link_gen_max", None),
        (
            "reasons",
            "<clocks_throttle_reasons><clocks_throttle_reason_hw_thermal_slowdown>Active"
            "</clocks_throttle_reason_hw_thermal_slowdown><clocks_throttle_reason_gpu_idle>Active"
            "</clocks_throttle_reason_gpu_idle></clocks_throttle_reasons>",
            "throttle",
            ["hw_thermal_slowdown"],
        ),
        ("reasons", "<clocks_event_reasons>N/A</clocks_event_reasons>", "throttle", None),
        ("persistence", "<persistence_mode>Disabled</persistence_mode>", "persistence", False),
        ("fabric", "<fabric><state>In Progress</state></fabric>", "fabric_state", "In Progress"),
        ("fabric", "<fabric><state>N/A</state></fabric>", "fabric_state", None),
        ("temperature", "<temperature><gpu_temp>GPU is lost</gpu_temp></temperature>", "trouble", "GPU is lost"),
    ],
)
def test_a_part_of_it(part: str, text: str, field: str, value: Any) -> None:
    state = parse_states(log(gpu(**{part: text})))[0]
    assert getattr(state, field) == value


def test_nvlinks() -> None:
    text = (
        f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
        "\t Link 17: <inactive>\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n"
        "GPU 2: NVIDIA L4 (UUID: GPU-2)\n"
    )
    assert parse_nvlinks(" Link 4: <inactive>\n" + text) == {UUID: [1, 17], "GPU-1": []}
    assert parse_nvlinks("") == {}


def switched(tmp_path: Path, hangs: list[str] | None = None, **commands: dict[str, Any]) -> OwnMachine:
    """Return a node with two GPUs and an NVSwitch; commands by the names above."""
    files = {"/dev/nvidia0": "", "/dev/nvidia1": ""}
    for address, kind in {"0000:1b:00.0": "0x030200", "0000:2c:00.0": "0x030200", "0000:c1:00.0": "0x068000"}.items():
        folder = f"/sys/bus/pci/devices/{address}"
        files.update({f"{folder}/vendor": "0x10de\n", f"{folder}/class": f"{kind}\n"})
        files.update({f"{folder}/current_link_width": "16\n", f"{folder}/max_link_speed": "32.0 GT/s PCIe\n"})
    lines = {"smi": SMI, "links": LINKS, "manager": MANAGER}
    manifest = {"files": files, "commands": {lines[name]: reply for name, reply in commands.items()}}
    return OwnMachine(manifest, tmp_path, hangs or [])


def test_a_node_with_switches(tmp_path: Path) -> None:
    links = answer(f"GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n")
    host = switched(tmp_path, smi=answer(log(gpu())), links=links, manager=answer("active\n"))
    result = read_gpu_health(host)
    assert result.devices is not None
    assert result.devices[0].nvlinks_down == [1]
    assert (result.fabric_manager, result.why) == (FabricManager(True, True, "active"), None)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (answer("inactive\n", "", 3), FabricManager(True, False, "inactive")),
        (answer("failed\n", "", 3), FabricManager(True, False, "failed")),
        (answer("", "Failed to connect to bus: No such file or directory\n", 1), FabricManager(True, None, None)),
    ],
)
def test_fabric_manager(tmp_path: Path, reply: dict[str, Any], expected: FabricManager) -> None:
    assert read_gpu_health(switched(tmp_path, smi=answer(log(gpu())), manager=reply)).fabric_manager == expected


# What nvidia-smi answers, and whether it hangs.
SILENT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no tool": ({}, []),
    "a tool that hangs": ({}, ["nvidia-smi"]),
    "a tool that fails": (
        {"smi": answer("NVIDIA-SMI has failed because it couldn't talk to the driver.\n", "", 9)},
        [],
    ),
    "an answer that is not read": ({"smi": answer("<!DOCTYPE x [<!ENTITY a 'b'>]><x/>")}, []),
}


@pytest.mark.parametrize(("commands", "hangs"), SILENT.values(), ids=SILENT)
def test_without_the_tool_links_are_read_from_sysfs(tmp_path: Path, commands: dict[str, Any], hangs: list[str]) -> None:
    result = read_gpu_health(switched(tmp_path, hangs, **commands))
    assert result.why
    assert result.devices == [
        GpuState(index, pci_address=address, link_width=16, link_gen_max=5)
        for index, address in enumerate(("0000:1b:00.0", "0000:2c:00.0"))
    ]


def test_a_tree_of_nvidia(tmp_path: Path) -> None:
    host = switched(tmp_path, smi=answer(log(gpu())))
    host.is_live = False
    result = read_gpu_health(host)
    assert (bool(result.why), result.fabric_manager) == (True, FabricManager(True))
    assert host.commands_run == []


def test_without_a_gpu(tmp_path: Path) -> None:
    assert read_gpu_health(Machine({}, tmp_path)) == GpuHealth(devices=[])
