# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables between GPUs, as rocm-smi and amd-smi print them."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.topology import ToolTables, link_types, parse_tables

ROCM_SMI = """\
WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status

======================= ROCm System Management Interface =======================
================================== PCI Bus ID ==================================
GPU[0]\t\t: PCI Bus: 0000:0C:00.0
GPU[1]\t\t: PCI Bus: 0000:22:00.0
GPU[2]\t\t: PCI Bus: odd
================================= Product Info =================================
GPU[0]\t\t: Card Series: \t\tAMD Instinct MI210: PCIe
=========================== Weight between two GPUs ============================
       GPU0         GPU1         GPU2         \n\
GPU0   0            15           72           \n\
GPU1   15           0            72           \n\
GPU2   72           72           0            \n\
========================== Link Type between two GPUs ==========================
       GPU0         GPU1         GPU2         \n\
GPU0   0            XGMI         PCIE         \n\
GPU1   XGMI         0            XXXX         \n\
GPU2   PCIE         XXXX         0            \n\
================================== Numa Nodes ==================================
GPU 0          : (Topology) Numa Node: 0
GPU[1]\t\t: (Topology) Numa Node: 1
============================= End of ROCm SMI Log ==============================
"""


def test_rocm_smi() -> None:
    result = parse_tables(ROCM_SMI)
    assert result.gpus == [0, 1, 2]
    assert result.addresses == {0: "0000:0c:00.0", 1: "0000:22:00.0"}
    assert result.tables["Weight between two GPUs"][1, 2] == "72"
    assert result.devices[0] == {"pci bus": "0000:0C:00.0", "card series": "AMD Instinct MI210: PCIe", "numa node": "0"}
    assert result.devices[1]["numa node"] == "1"
    assert result.complaints == ROCM_SMI.splitlines()[:1]
    assert link_types(result) == {(0, 1): "XGMI", (0, 2): "PCIE"}


def test_one_gpu_has_a_table_and_no_links() -> None:
    result = parse_tables("=== Link Type between two GPUs ===\n       GPU0         \nGPU0   0            \n")
    assert result.gpus == [0]
    assert result.tables == {"Link Type between two GPUs": {(0, 0): "0"}}
    assert link_types(result) == {}


def test_link_words_below_the_heading_of_weights_are_links() -> None:
    text = (
        "=== Weight between two GPUs ===\nget_link_weight_topology, Not supported on the given system\n"
        "ERROR: GPU[1]   : Cannot read Link Weight\n\n     GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\n"
    )
    result = parse_tables(text)
    assert link_types(result) == {(0, 1): "XGMI"}
    assert len(result.complaints) == 2
    assert result.devices == {}


def test_amd_smi_names_its_gpus_by_address() -> None:
    text = (
        "\x1b[4mACCESS TABLE:\x1b[0m\n             0000:0C:00.0 0001:22:00.1\n0000:0C:00.0 ENABLED ENABLED\n"
        "0001:22:00.1 ENABLED ENABLED\n\nLINK TYPE TABLE:\n             0000:0C:00.0 0001:22:00.1\n"
        "0000:0C:00.0 SELF \x1b[4mPCIE\x1b[0m\n0001:22:00.1 PCIE SELF\n\nLegend:\n N/A = Not supported\n"
    )
    result = parse_tables(text)
    assert result.addresses == {0: "0000:0c:00.0", 1: "0001:22:00.1"}
    assert list(result.tables) == ["ACCESS TABLE", "LINK TYPE TABLE"]
    assert link_types(result) == {(0, 1): "PCIE"}
    assert result.complaints == []


def test_what_is_cut_is_left_out() -> None:
    text = "LINK TYPE TABLE:\nGPU0 GPU1 GPU2\nGPU0 SELF XGMI PCIE XGMI\nGPU1 XGMI SELF\nGPU"
    result = parse_tables(text)
    assert result.tables == {"LINK TYPE TABLE": {(1, 0): "XGMI", (1, 1): "SELF"}}
    assert parse_tables("GPU0 SELF XGMI\nGPU1 XGMI SELF\n").tables == {}
    result = parse_tables("WEIGHT TABLE:\nGPU0 GPU1\nGPU0 0 15\nLINK TYPE TABLE:\nGPU0 SELF XGMI\n")
    assert result.tables == {"WEIGHT TABLE": {(0, 0): "0", (0, 1): "15"}}


def test_a_pair_with_two_relations_is_not_known() -> None:
    assert link_types(ToolTables(tables={"link_type": {(0, 1): "XGMI", (1, 0): "PCIE", (2, 0): "PCIE"}})) == {
        (0, 2): "PCIE"
    }
