# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of nvidia-smi topo, as machines print them and as people quote them."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.devices import nearest_nics
from ansible_collections.muster.train.plugins.module_utils._gpu.nvidia.topology import (
    Affinity,
    Topology,
    nic_relation,
    nvlinks,
    parse_topology,
)
from ansible_collections.muster.train.plugins.module_utils._records.gpu import NicLink
from ansible_collections.muster.train.tests.support.captures import captures, expected, text, texts

KINDS = ("nvidia-smi topo -m", "nvidia-smi topo -mp", "nvidia-smi topo -p2p", "not-nvidia-smi")
ABOUT = {"kind", "made_by", "note"}


def describe(topology: Topology) -> dict[str, Any]:
    """Say a topology in the words of the captures' expected values."""
    pairs = {
        (row, column): topology.relation(row, column)
        for row in topology.rows
        for column in topology.gpus
        if row != column
    }
    words = set(pairs.values())
    links = [
        NicLink(int(gpu[3:]), topology.name(nic), relation)
        for gpu, nic in itertools.product(topology.rows, topology.nics)
        if (relation := nic_relation(topology.relation(gpu, nic)))
    ]
    return {
        "gpu_count": len(topology.gpus),
        "nic_columns": topology.nics,
        "nic_legend": topology.legend,
        "gpu_rows_present": topology.rows,
        "gpu_gpu_all": words.pop() if len(words) == 1 else words,
        "p2p_all": next(iter(pairs.values()), None) if len(set(pairs.values())) == 1 else pairs,
        "gpu_gpu": {
            row: {column: pairs[row, column] for column in topology.gpus if column != row} for row in topology.rows
        },
        "nvlinks": {
            row: sorted(
                {
                    count
                    for column in topology.gpus
                    if column != row and (count := nvlinks(pairs[row, column] or "")) is not None
                }
            )
            for row in topology.rows
        },
        "nearest_nic": {
            f"GPU{nearest.gpu}": {"relation": nearest.relation, "nics": nearest.names}
            for nearest in nearest_nics(links)
        },
        "affinity": {
            label: {"cpu": affinity.cpu, "numa": affinity.numa, "gpu_numa_id": affinity.gpu_numa_id}
            for label, affinity in topology.affinity.items()
        },
        "vendor": topology.vendor or "unknown (not NVIDIA)",
    }


@pytest.mark.parametrize("path", captures("nvidia_topo"))
def test_capture(path: Path) -> None:
    wanted = expected(path)
    if not wanted["kind"].startswith(KINDS):
        pytest.skip(f"another kind: {wanted['kind']}")
    topology = parse_topology(text(path))
    result = describe(topology)
    unknown = set(wanted) - set(result) - ABOUT
    assert not unknown
    for gpu, affinity in wanted.get("affinity", {}).items():
        why = affinity.pop("why", None)
        assert (topology.affinity[gpu].why is not None) >= (why is not None)
        result["affinity"][gpu] = {key: result["affinity"][gpu][key] for key in affinity}
    for key in set(wanted) - ABOUT:
        if key == "nvlinks" and not wanted[key]:
            result[key] = {gpu: counts for gpu, counts in result[key].items() if counts}
        assert result[key] == wanted[key], key
    if "nvlinks" not in wanted:
        assert not any(result["nvlinks"].values())
    assert (topology.vendor == "nvidia") == wanted["kind"].startswith("nvidia-smi")


LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_bond_1
"""
TABLE = (
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tNV18\tPIX\tSYS\t0-31,64-95\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tNODE\tSYS\t0-31,64-95\t0\t\tN/A\n"
    "GPU2\tNV18\tNV18\t X \tSYS\tPXB\t32-63\t1\t\t2\n"
    "NIC0\tPIX\tNODE\tSYS\t X \tSYS\t\t\t\n"
    "NIC1\tSYS\tSYS\tPXB\tSYS\t X \t\t\t\n"
)


def test_a_terminal() -> None:
    topology = parse_topology(TABLE + LEGEND)
    assert (topology.vendor, topology.gpus, topology.rows) == ("nvidia", ["GPU0", "GPU1", "GPU2"], topology.gpus)
    assert (topology.nics, topology.legend) == (["NIC0", "NIC1"], {"NIC0": "mlx5_0", "NIC1": "mlx5_bond_1"})
    assert topology.relation("GPU0", "GPU2") == "NV18"
    assert topology.relation("GPU1", "NIC0") == topology.relation("NIC0", "GPU1") == "NODE"
    assert topology.relation("GPU0", "GPU0") is None
    assert topology.name("NIC1") == "mlx5_bond_1"
    assert topology.affinity["GPU0"] == Affinity("0-31,64-95", "0")
    assert topology.affinity["GPU2"] == Affinity("32-63", "1", 2)


@pytest.mark.parametrize(
    "quote",
    [
        pytest.param(lambda table: table.expandtabs(), id="blanks"),
        pytest.param(lambda table: table.replace("\t", "  "), id="two blanks"),
        pytest.param(lambda table: "".join(f" * {line}\n" for line in table.splitlines()), id="comment"),
        pytest.param(lambda table: "".join(f"> {line}\n" for line in table.splitlines()), id="quoted"),
        pytest.param(lambda table: "".join(f"| {line} |\n" for line in table.splitlines()), id="bars"),
        pytest.param(lambda table: "".join(f"12:00:01 [rank0]: {line}\n" for line in table.splitlines()), id="log"),
        pytest.param(lambda table: table.replace("\n", "\r\n"), id="crlf"),
        pytest.param(lambda table: "On GPU0 I ran\n$ nvidia-smi topo -m\n" + table, id="sentence and prompt"),
        pytest.param(lambda table: table.replace("GPU2\tNIC0\tNIC1\tC", "GPU2NIC0NIC1C"), id="header glued"),
        pytest.param(lambda table: table.replace("NUMA Affinity\t", "NUMA Affinity"), id="titles glued"),
        pytest.param(lambda table: table.replace("NODE\tSYS\t0", "NODESYS0"), id="row glued"),
        pytest.param(lambda table: table.replace("\t\tN/A", "N/A"), id="N/A glued"),
        pytest.param(lambda table: table.replace("GPU1\tNV18\t X", "GPU1\tNV18\tX"), id="X without blanks"),
        pytest.param(lambda table: table + "\n" + TABLE.replace("NV18", "SYS"), id="another table below"),
        pytest.param(lambda table: table.replace("N/A\n", "N/A   <-- look here\n"), id="remark"),
        pytest.param(
            lambda table: "".join(
                line[:place].rstrip() + "\n" + line[place:] + "\n"
                for line in table.expandtabs().splitlines()
                for place in [56 if "Affinity" in line else 40]
            ),
            id="wrapped",
        ),
        pytest.param(lambda table: table + "GPU0 NOT WORKING\n", id="sentence below"),
    ],
)
def test_however_it_is_quoted(quote: Any) -> None:
    assert parse_topology(quote(TABLE) + LEGEND) == parse_topology(TABLE + LEGEND)


def test_names_in_the_header() -> None:
    old = TABLE.replace("NIC0", "mlx5_0").replace("NIC1", "mlx5_bond_1")
    topology = parse_topology(old + LEGEND[: LEGEND.index("NIC Legend")])
    assert (topology.nics, topology.legend) == (["mlx5_0", "mlx5_bond_1"], {})
    assert topology.relation("GPU2", topology.nics[1]) == "PXB"
    assert parse_topology(old.replace("mlx5_0\tmlx5_bond_1\tC", "mlx5_0mlx5_bond_1C")).nics == topology.nics


def test_a_missing_row_is_read_from_the_others() -> None:
    lines = TABLE.splitlines(keepends=True)
    topology = parse_topology("".join(lines[:2] + lines[4:]))
    assert (topology.gpus, topology.rows) == (["GPU0", "GPU1", "GPU2"], ["GPU0"])
    assert topology.relation("GPU0", "GPU1") == topology.relation("GPU1", "GPU0") == "NV18"
    assert topology.relation("GPU2", "NIC1") == "PXB"
    assert topology.relation("GPU1", "GPU2") is None


def test_a_missing_header_is_read_from_the_rows() -> None:
    rows = TABLE[TABLE.index("\nGPU0") + 1 :]
    topology, whole = parse_topology(rows + LEGEND), parse_topology(TABLE + LEGEND)
    assert (topology.gpus, topology.nics, topology.legend) == (whole.gpus, whole.nics, whole.legend)
    assert topology.relations == whole.relations
    assert topology.affinity["GPU0"] == Affinity(why="no titles")
    alone = parse_topology("".join(rows.splitlines(keepends=True)[1:3]))
    assert (alone.gpus, alone.nics) == (["GPU1", "GPU2"], [])
    assert alone.relations == {("GPU1", "GPU2"): "NV18", ("GPU2", "GPU1"): "NV18"}


@pytest.mark.parametrize(
    ("row", "relations"),
    [
        pytest.param("GPU1  NV18  X  NV18", {"GPU0": "NV18", "GPU2": "NV18"}, id="cut"),
        pytest.param("GPU1  NV18 ...", {"GPU0": "NV18"}, id="cut and said so"),
        pytest.param("GPU1  X  NV18  PIX  SYS  0-3  0  N/A", {}, id="a word lost before its X"),
        pytest.param("GPU1  NV18  X  PIX  SYS  0-3  0  N/A", {"GPU0": "NV18"}, id="a word lost after its X"),
        pytest.param("GPU1  NV18  SYS  0-3  0  N/A", {}, id="its X lost"),
        pytest.param(
            "GPU1  NV18  X  N/A  PIX  ERR!  0-3  0  N/A", {"GPU0": "NV18", "NIC0": "PIX"}, id="words that say nothing"
        ),
    ],
)
def test_a_damaged_row(row: str, relations: dict[str, str]) -> None:
    header = TABLE.splitlines()[0]
    topology = parse_topology(f"{header}\n{row}\n")
    assert {column: word for (_row, column), word in topology.relations.items()} == relations


@pytest.mark.parametrize(
    ("values", "affinity"),
    [
        ("0-31,64-95  0  N/A", Affinity("0-31,64-95", "0")),
        ("0-71  0,3-9,11-17  2", Affinity("0-71", "0,3-9,11-17", 2)),
        ("0-31,64-950  N/A", Affinity(why="ambiguous: columns glued or missing")),
        ("0-47  0", Affinity(why="ambiguous: columns glued or missing")),
        ("N/A", Affinity(why="missing")),
        ("", Affinity(why="missing")),
        ("N/A  N/A  N/A", Affinity(why="missing")),
        ("0-47  N/A  N/A", Affinity("0-47")),
        ("0-47  0N/A", Affinity("0-47", "0")),
        ("0-4x7  0  N/A", Affinity(why="not a list of CPUs and NUMA nodes")),
        ("0-47  0  N/A  7", Affinity(why="ambiguous: columns glued or missing")),
        ("\t0-47\t\t\tN/A", Affinity("0-47")),
        ("\t\t1\t\tN/A", Affinity(None, "1")),
        ("\t0-31,64-950\t\tN/A", Affinity(why="ambiguous: columns glued or missing")),
    ],
)
def test_affinity(values: str, affinity: Affinity) -> None:
    row = "GPU0\tX" + values if values.startswith("\t") else "GPU0  X  " + values
    topology = parse_topology("\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n" + row + "\n")
    assert topology.affinity == {"GPU0": affinity}


def test_other_drivers_titles() -> None:
    assert parse_topology("GPU0 CPU Affinity\nGPU0 X 0-7\n").affinity == {"GPU0": Affinity("0-7")}
    old = parse_topology("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSOC\t0-7\nGPU1\tSOC\t X \t8-15\n")
    assert (old.vendor, old.relation("GPU0", "GPU1")) == ("nvidia", "SOC")


@pytest.mark.parametrize("word", ["OK", "CNS", "GNS", "TNS", "NS", "DR", "U"])
def test_peer_to_peer(word: str) -> None:
    topology = parse_topology(
        f" \tGPU0\tGPU1\t\n GPU0\tX\t{word}\t\n GPU1\t{word}\tX\t\n\nLegend:\n\n  {word} = Status\n"
    )
    assert (topology.vendor, topology.relations) == ("nvidia", {("GPU0", "GPU1"): word, ("GPU1", "GPU0"): word})


def test_whose_tool() -> None:
    theirs = "\tGPU0\tGPU1\tNode Affinity\tCPU Affinity\nGPU0\tX\t{0}\t0\t0-7\nGPU1\t{0}\tX\t0\t0-7\n"
    assert parse_topology(theirs.format("MX")).vendor is None
    assert parse_topology(theirs.format("MX")).relation("GPU0", "GPU1") == "MX"
    assert parse_topology(theirs.format("PIX") + "\n  MX   = Connection traversing MetaXLink\n").vendor is None
    assert parse_topology(theirs.format("PIX")).affinity["GPU1"] == Affinity("0-7", "0")
    # A word that NVIDIA may add tomorrow.
    assert parse_topology(TABLE.replace("PIX", "C2C") + LEGEND).vendor == "nvidia"


@pytest.mark.parametrize(
    "nothing",
    ["", "\n\n", "No devices were found\n", LEGEND, "GPU0 and GPU1 are fast\n", "GPU0\n", "GPU 0: NVIDIA H100\n"],
)
def test_no_table(nothing: str) -> None:
    assert parse_topology(nothing) == Topology(None, [], [], {}, [], {}, {})


def test_fuzz() -> None:
    chance = random.Random(7)
    samples = [TABLE + LEGEND, TABLE.expandtabs()]
    samples += texts("nvidia_topo")
    bits = [
        "",
        "\n",
        "\t",
        " ",
        "X",
        "GPU0",
        "NIC1",
        "N/A",
        "9" * 300,
        "\0",
        "\x1b[4m",
        "\u0663",
        "GPU NUMA ID",
        "0-7",
    ]
    for _case in range(10000):
        parts = list(chance.choice(samples)[: chance.randrange(20, 700)])
        for _change in range(chance.randrange(1, 12)):
            place = chance.randrange(len(parts))
            parts[place : place + chance.randrange(3)] = chance.choice(bits)
        topology = parse_topology("".join(parts))
        assert set(topology.affinity) == set(topology.rows) <= set(topology.gpus)
        assert {label for pair in topology.relations for label in pair} <= {*topology.gpus, *topology.nics}
