# SPDX-License-Identifier: GPL-3.0-or-later
"""One piece over and over, 128 KiB of it, is read in time: a search holds the interpreter, so no cap would end it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable

import pytest

from ansible_collections.muster.train.plugins.module_utils._container import engine_output
from ansible_collections.muster.train.plugins.module_utils._gpu.amd import smi_output, topology
from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia import health
from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia import smi_output as nvidia_smi_output
from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia import topology as nvidia_topology
from ansible_collections.muster.train.plugins.module_utils._software import tools
from ansible_collections.muster.train.plugins.module_utils._software.code import parse_status
from ansible_collections.muster.train.plugins.module_utils._system import gpu_processes, kernel_log

pytestmark = pytest.mark.slow

LENGTH = 128 * 1024
# Many times what a busy machine takes; a search that goes back over and over takes many minutes.
LIMIT_S = 60.0
PIECES = [
    *(
        " ",
        "\t",
        "\n",
        "\r",
        "\x0b",
        "\u2028",
        "\xa0",
        "\ufffd",
        "a",
        "A",
        "0",
        "0.",
        "0.0",
        "1-2,",
        "a:",
        '"',
        '"a',
        '",',
    ),
    *("GPU0 ", "GPU0\tX\n", "GPU0 GPU1\n", "GPU0: \n", "GPU0 PIX\n", "GPU0NIC0", "GPU 0: (UUID: ", "GPU[0] : a: "),
    *(
        "GPU NUMA ID ",
        "CPU ",
        "CPU Affinity",
        "NIC0: ",
        "NIC11",
        "NIC1 : a\n",
        "NODE\n",
        "NV1",
        "NV11 ",
        "SYS",
        "X ",
        "X\n",
    ),
    *(
        "MIG a Device ",
        "Driver Version : ",
        "CUDA Version : 1\n",
        "mlx5_0",
        "\x1b[",
        "\x1b[4m",
        "- ",
        "= ",
        "= a ",
        "A ",
    ),
    *(
        "[",
        "{",
        "[\n",
        '{"gpu":',
        "<gpu>",
        "<a>",
        "0000:00:00.0 ",
        "PCIE XGMI ",
        "TABLE",
        "# branch.oid ",
        "Legend: ",
        ",\n",
        "Xid (0000:00:00): ",
        "amdgpu 0000:00:00.0: ",
        "mlx5_core 0000:00:00.0: available PCIe bandwidth",
        '{"MESSAGE":[',
    ),
]


def parse_version(text: str) -> object:
    return tools.parse_version("Docker version" + text, "Docker version")


def parse_errors(text: str) -> object:
    lines = [*kernel_log.parse_dmesg(text), *kernel_log.parse_journal(text), kernel_log.Line(None, text)]
    return kernel_log.errors_of(lines)


PARSERS = [
    *(
        nvidia_smi_output.parse_log,
        nvidia_smi_output.parse_query,
        nvidia_smi_output.other_lines,
        nvidia_smi_output.parse_list,
    ),
    *(nvidia_smi_output.parse_xml, nvidia_topology.parse_topology, topology.parse_tables, smi_output.parse_topology),
    *(smi_output.parse_names, parse_version, parse_status, health.parse_states, health.parse_nvlinks),
    *(engine_output.parse_gpu_containers, gpu_processes.parse_users, parse_errors),
]


def read_all(parse: Callable[[str], object]) -> None:
    for piece in PIECES:
        parse(piece * (LENGTH // len(piece)) + "z")


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: f"{parse.__module__.rpartition('.')[2]}.{parse.__name__}")
def test_long_answers_are_read(parse: Callable[[str], object]) -> None:
    child = multiprocessing.get_context("fork").Process(target=read_all, args=(parse,))
    child.start()
    child.join(LIMIT_S)
    exitcode = child.exitcode
    child.kill()
    child.join()
    assert exitcode == 0
