# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi prints about GPUs, and what the driver does without it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia.driver import parse_information
from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia.smi_output import (
    SmiAnswer,
    SmiGpu,
    other_lines,
    parse_list,
    parse_log,
    parse_query,
    parse_xml,
)
from ansible_collections.muster.train.tests.support.nvidia_machines import CUDA, DRIVER, LOG, NAME, row, uuid

XML = f"""<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<driver_version>{DRIVER}</driver_version>
\t<cuda_version>{CUDA}</cuda_version>
\t<attached_gpus>2</attached_gpus>
\t<gpu id="00000000:1B:00.0">
\t\t<product_name>{NAME}</product_name>
\t\t<mig_mode><current_mig>Enabled</current_mig></mig_mode>
\t\t<uuid>{uuid(0)}</uuid>
\t\t<pci><pci_bus_id>00000000:1B:00.0</pci_bus_id></pci>
\t\t<fb_memory_usage><total>81559 MiB</total></fb_memory_usage>
\t</gpu>
\t<gpu id="00000000:2C:00.0">
\t\t<product_name>{NAME}</product_name>
\t\t<mig_mode><current_mig>N/A</current_mig></mig_mode>
\t\t<uuid>{uuid(1)}</uuid>
\t\t<pci><pci_bus_id>00000000:2C:00.0</pci_bus_id></pci>
\t\t<fb_memory_usage><total>N/A</total></fb_memory_usage>
\t</gpu>
</nvidia_smi_log>
"""
MIG = f"""GPU 0: NVIDIA A100-SXM4-80GB (UUID: {uuid(0)})
  MIG 3g.40gb     Device  0: (UUID: MIG-11111111-2222-3333-4444-555555555555)
  MIG 1g.10gb+me  Device  1: (UUID: MIG-{uuid(0)}/9/0)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: {uuid(1)})
"""


def test_query() -> None:
    assert parse_query(row(1, mig="Enabled") + "\n" + row(0) + "\n") == SmiAnswer(
        [SmiGpu(0, NAME, uuid(0), "0000:1b:00.0", 81559), SmiGpu(1, NAME, uuid(1), "0000:2c:00.0", 81559, mig=True)],
        DRIVER,
    )


@pytest.mark.parametrize(
    ("values", "gpu"),
    [
        ({"memory": "[N/A]", "mig": "[N/A]"}, SmiGpu(0, NAME, uuid(0), "0000:1b:00.0")),
        ({"memory": "[Insufficient Permissions]"}, SmiGpu(0, NAME, uuid(0), "0000:1b:00.0")),
        ({"name": '"Name, with a comma"'}, SmiGpu(0, "Name, with a comma", uuid(0), "0000:1b:00.0", 81559)),
        (
            {"name": "[GPU is lost]", "memory": "[GPU is lost]"},
            SmiGpu(0, None, uuid(0), "0000:1b:00.0", trouble="GPU is lost"),
        ),
        (
            {"memory": "[Unknown Error]"},
            SmiGpu(0, NAME, uuid(0), "0000:1b:00.0", trouble="Unknown Error"),
        ),
    ],
)
def test_query_without_a_value(values: dict[str, str], gpu: SmiGpu) -> None:
    assert parse_query(row(0, **values)).gpus == [gpu]


def test_query_with_a_line_of_another_kind() -> None:
    lost = "Unable to determine the device handle for GPU1: 0000:2C:00.0: GPU is lost.  Reboot the system"
    text = f"{row(0)}\n{lost}\n{row(2)}\n"
    assert [(gpu.index, gpu.pci_address, gpu.trouble) for gpu in parse_query(text).gpus] == [
        (0, "0000:1b:00.0", None),
        (1, "0000:2c:00.0", lost),
        (2, "0000:9d:00.0", None),
    ]
    assert other_lines(text) == lost
    without = text.replace("GPU1: ", "GPU ")
    assert [gpu.index for gpu in parse_query(without).gpus] == [0, 1, 2]
    assert parse_query("No devices were found\n") == parse_query(lost) == SmiAnswer()


def test_xml() -> None:
    assert parse_xml(XML) == SmiAnswer(
        [SmiGpu(0, NAME, uuid(0), "0000:1b:00.0", 81559, mig=True), SmiGpu(1, NAME, uuid(1), "0000:2c:00.0")],
        DRIVER,
        CUDA,
    )
    newer = XML.replace("cuda_version", "cuda_umd_version").replace("driver_version", "kmd_version")
    assert parse_xml(newer) == parse_xml(XML)
    assert parse_xml(XML[:700]) == parse_xml("No devices were found") == parse_xml("") == SmiAnswer()
    assert parse_xml(
        '<!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log><cuda_version>1.0</cuda_version></nvidia_smi_log>'
    ) == (SmiAnswer())


def test_versions() -> None:
    assert parse_log(LOG) == SmiAnswer([], DRIVER, CUDA)
    assert parse_log("KMD Version      : 610.57.04\nCUDA UMD Version : 13.3\n") == SmiAnswer([], "610.57.04", "13.3")
    assert parse_log("Driver Version : 390.48\n") == SmiAnswer([], "390.48")
    assert parse_log("CUDA Version : N/A\n") == parse_log("") == SmiAnswer()


def test_mig_devices() -> None:
    assert parse_list(MIG) == {
        uuid(0): [
            ("3g.40gb", "MIG-11111111-2222-3333-4444-555555555555"),
            ("1g.10gb+me", f"MIG-{uuid(0)}/9/0"),
        ],
        uuid(1): [],
    }
    assert parse_list("  MIG 1g.10gb  Device  0: (UUID: MIG-1)\n") == {}


def test_information() -> None:
    assert parse_information("Model: \t\t NVIDIA L4\nBus Location: \t 0000:1b:00.0\nno colon\n") == {
        "Model": "NVIDIA L4",
        "Bus Location": "0000:1b:00.0",
    }


@pytest.mark.parametrize("parse", [parse_query, parse_xml, parse_log, parse_list, parse_information])
def test_fuzz(parse: Callable[[str], object]) -> None:
    chance = random.Random(11)
    samples = [row(0) + "\n" + row(1) + "\n", XML, LOG, MIG]
    bits = ["", "\n", ",", '"', "[", "]", ":", "\0", "<", "&", "9" * 300, "\u0663", "GPU ", "-", "MiB", "\x1b[4m"]
    empty = parse("")
    for _case in range(10000):
        parts = list(chance.choice(samples)[chance.randrange(0, 400) :])[: chance.randrange(20, 800)]
        for _change in range(chance.randrange(1, 12)):
            place = chance.randrange(len(parts)) if parts else 0
            parts[place : place + chance.randrange(3)] = chance.choice(bits)
        assert type(parse("".join(parts))) is type(empty)
