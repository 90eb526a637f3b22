# SPDX-License-Identifier: GPL-3.0-or-later
"""What real AMD machines printed, each key of what a correct reader must find there. A key unknown here fails."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.devices import read
from ansible_collections.muster.train.plugins.module_utils._gpu.amd.kfd import (
    NODES,
    PCIE,
    XGMI,
    Kfd,
    read_links,
    read_nodes,
)
from ansible_collections.muster.train.plugins.module_utils._gpu.amd.smi_output import NO_JSON, parse_topology
from ansible_collections.muster.train.plugins.module_utils._gpu.amd.topology import ToolTables, link_types, parse_tables
from ansible_collections.muster.train.plugins.module_utils._host.pci import physical
from ansible_collections.muster.train.tests.support.captures import captures, expected, text
from ansible_collections.muster.train.tests.support.machines import Machine

# The headings under which the versions of the tools print one fact
HEADINGS = {
    "link": ("LINK TYPE TABLE", "Link Type between two GPUs", "link_type"),
    "weight": ("WEIGHT TABLE", "Weight between two GPUs", "weight"),
    "hops": ("HOPS TABLE", "Hops between two GPUs", "hops", "num_hops"),
    "access": ("ACCESS TABLE", "Link accessibility between two GPUs", "link_accessibility", "link_status"),
    "numa_bw": ("NUMA BW TABLE", "numa_bandwidth", "bandwidth"),
    "link_status": ("link_status",),
}
HEADINGS["accessible"] = HEADINGS["access"]
ALIASES = {"link_type": "link", "links": "link", "weights": "weight"}
REMARKS = ("made_by", "kind", "note", "resolver")


def cells(topology: ToolTables, fact: str) -> dict[tuple[int, int], str]:
    """Return one fact's cells off the diagonal; a table of link types is none of weights, whatever its heading."""
    if fact == "link":
        return link_types(topology)
    result = [topology.tables[heading] for heading in HEADINGS[fact] if heading in topology.tables]
    return {pair: cell for pair, cell in result[0].items() if pair[0] != pair[1]} if result else {}


def check_topology(topology: ToolTables, key: str, value: Any) -> None:
    fact = ALIASES.get(key, key)
    if key in ("gpu_count", "gpu_count_columns"):
        assert len(topology.gpus) == value
    elif key == "gpus_seen":
        assert topology.gpus == value
    elif key == "bdf":
        assert topology.addresses == (value if isinstance(value, dict) else dict(enumerate(value)))
    elif key == "valid_json":
        assert (NO_JSON not in topology.complaints) is value
    elif key in ("error", "warning"):
        assert any(value in complaint for complaint in topology.complaints)
    elif key == "tables":
        assert list(topology.tables) == value
    elif key == "link_values":
        assert {cell for table in topology.tables.values() for cell in table.values()} == set(value)
        assert set(link_types(topology).values()) == set(value) & {"XGMI", "PCIE"}
    elif key.endswith("_all"):
        fact = key.removesuffix("_all")
        result = cells(topology, fact)
        pairs = {(min(pair), max(pair)) for pair in result}
        assert len(pairs) == len(topology.gpus) * (len(topology.gpus) - 1) // 2
        assert set(result.values()) == {str(value)}
    elif fact in ("numa_node", "numa_nodes", "numa", "numa_affinity"):
        name = "numa affinity" if fact == "numa_affinity" else "numa node"
        found_numbers = {number: int(answer[name]) for number, answer in topology.devices.items()}
        assert found_numbers == (value if isinstance(value, dict) else dict(enumerate(value)))
    elif value is None:
        assert {word for word in cells(topology, fact).values() if word.isdecimal() or fact == "link"} == set()
    elif fact in HEADINGS and isinstance(value, dict):
        for pair, answer in value.items():
            a, b = map(int, pair.split("-"))
            word = {True: "ENABLED", False: "DISABLED"}[answer] if isinstance(answer, bool) else str(answer)
            assert cells(topology, fact)[a, b] == word
    else:
        pytest.fail(f"the test does not know the key {key}: {value!r}")


def machine(path: Path, tmp_path: Path) -> Machine:
    """Build the machine of a KFD capture: `== path below the topology` before each file, every device node there."""
    files = {"/dev/kfd": ""}
    for part in re.split(r"^== ", text(path), flags=re.MULTILINE)[1:]:
        name, _newline, content = part.partition("\n")
        files[f"{NODES.rpartition('/')[0]}/{name.removeprefix('topology/')}"] = content
    for minor in re.findall(r"^drm_render_minor ([1-9]\d*)$", text(path), re.MULTILINE):
        files[f"/dev/dri/renderD{minor}"] = ""
    return Machine({"files": files}, tmp_path)


def types(host: Machine, kfd: Kfd, kind: int) -> dict[tuple[int, int], int]:
    """Return the weights of one kind of link between GPUs."""
    gpus = {node.number for node in kfd.nodes if node.is_gpu}
    return {
        (node.number, link.to): link.weight
        for node in kfd.nodes
        if node.is_gpu
        for link in read_links(host, node)
        if link.type == kind and link.to in gpus
    }


def check_kfd(host: Machine, key: str, value: Any) -> None:
    kfd = read_nodes(host)
    gpus = [node for node in kfd.nodes if node.is_gpu]
    gpu = read(host, lambda message: None)
    hives: dict[int, list[int]] = {}
    for node in gpus:
        hives.setdefault(node.hive_id, []).append(node.number)
    hives.pop(0, None)
    if key == "cpu_nodes":
        assert kfd.processors == value
    elif key in ("gpu_nodes", "gpu_nodes_here"):
        assert [node.number for node in gpus] == value
    elif key in ("gpu_count", "gpu_count_here"):
        assert gpu.count == value and len(gpu.devices) == value
    elif key == "bdf":
        addresses = {node.number: device.pci_address for node, device in zip(gpus, gpu.devices)}
        assert {number: addresses[number] for number in value} == value
    elif key == "drm_render_minor":
        assert {node.number: node.drm_render_minor for node in gpus} == value
    elif key == "gfx":
        name, _blank, version = value.partition(" (gfx_target_version ")
        assert {node.gfx for node in gpus} == {name} == {device.name for device in gpu.devices}
        assert {node.gfx_target_version for node in gpus} == {int(version.rstrip(")"))}
    elif key == "partition":
        assert {device.partition for device in gpu.devices} == {value.split()[0]}
    elif key == "physical_gpus_here":
        assert len({physical(device.pci_address or "") for device in gpu.devices}) == value
    elif key == "hives":
        assert list(hives.values()) == value
        words = {(gpus[link.a].number, gpus[link.b].number): link.relation for link in gpu.links}
        assert {pair for pair, word in words.items() if word == "XGMI"} == {
            (a, b) for hive in value for a in hive for b in hive if a < b
        }
    elif key == "hive_count":
        assert len(hives) == value
    elif key == "xgmi_pairs_weight":
        assert set(types(host, kfd, XGMI).values()) == {value}
    elif key == "cross_hive":
        assert value["where"] == "p2p_links" and value["type"] == PCIE
        assert set(types(host, kfd, PCIE).values()) == {value["weight"]}
        assert {link.relation for link in gpu.links} == {"XGMI", "PCIE"}
    elif key == "cpu_affinity":
        nodes = {}
        for span, processors in value.items():
            first, _dash, last = str(span).partition("-")
            nodes.update(dict.fromkeys(range(int(first), int(last or first) + 1), processors))
        assert {node.number: device.numa_node for node, device in zip(gpus, gpu.devices)} == nodes
    elif key == "xgmi":
        assert ("XGMI" in {link.relation for link in gpu.links}) is value
    elif key == "fully_connected_xgmi":
        pairs = len(gpus) * (len(gpus) - 1) // 2
        assert ([link.relation for link in gpu.links] == ["XGMI"] * pairs) is value
    else:
        pytest.fail(f"the test does not know the key {key}: {value!r}")


@pytest.mark.parametrize("path", captures("amd_topo"))
def test_every_key_of_a_capture(path: Path, tmp_path: Path) -> None:
    wanted = expected(path)
    kind = wanted["kind"]
    facts = {key: value for key, value in wanted.items() if key not in REMARKS}
    assert facts
    for number, (key, value) in enumerate(facts.items()):
        if kind.startswith("kfd sysfs"):
            check_kfd(machine(path, tmp_path / str(number)), key, value)
        elif kind.startswith("amd-smi") and "--json" in kind:
            check_topology(parse_topology(text(path)), key, value)
        elif kind.startswith(("rocm-smi --show", "amd-smi topology")):
            check_topology(parse_tables(text(path)), key, value)
        else:
            pytest.fail(f"the test does not know the kind {kind}")
