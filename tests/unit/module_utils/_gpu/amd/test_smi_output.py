# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON of amd-smi, old, new, wrapped and damaged."""

from __future__ import annotations

import json

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.smi_output import (
    NO_JSON,
    parse_names,
    parse_topology,
)
from ansible_collections.muster.train.plugins.module_utils._gpu.amd.topology import ToolTables, link_types

OLD = [
    {"gpu": 0, "link_type": {"gpu_0": "SELF", "gpu_1": "XGMI"}, "hops": {"gpu_0": 0, "gpu_1": 1}},
    {"gpu": 1, "link_type": {"gpu_0": "XGMI", "gpu_1": "SELF"}, "hops": {"gpu_0": 1, "gpu_1": 0}},
]
NEW = [
    {
        "gpu": 0,
        "bdf": "0000:0C:00.0",
        "links": [
            {"gpu": 0, "bdf": "0000:0c:00.0", "link_type": "SELF", "num_hops": 0},
            {"gpu": 1, "bdf": "0000:22:00.0", "link_type": "XGMI", "num_hops": 1},
        ],
    }
]
STATIC = [
    {"gpu": 0, "asic": {"market_name": "AMD Instinct MI210"}, "bus": {"bdf": "0000:0C:00.0"}},
    {"gpu": 1, "asic": {"market_name": "N/A"}, "bus": {"bdf": "0000:22:00.0"}},
    {"gpu": 2, "asic": "N/A", "bus": "N/A"},
]


def test_the_old_shape_has_numbers_only() -> None:
    result = parse_topology(json.dumps(OLD, indent=4))
    assert (result.gpus, result.addresses, result.complaints) == ([0, 1], {}, [])
    assert result.tables["hops"] == {(0, 0): "0", (0, 1): "1", (1, 0): "1", (1, 1): "0"}
    assert link_types(result) == {(0, 1): "XGMI"}


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize("front", ["", "$ amd-smi topology --json\n", "[WARNING] low power\n"])
@pytest.mark.parametrize("wrap", [False, True])
def test_the_new_shape_has_addresses(indent: int | None, front: str, wrap: bool) -> None:
    result = parse_topology(front + json.dumps({"gpu_data": NEW} if wrap else NEW, indent=indent) + "\nbye\n")
    assert (result.gpus, result.complaints) == ([0, 1], [])
    assert result.addresses == {0: "0000:0c:00.0", 1: "0000:22:00.0"}
    assert link_types(result) == {(0, 1): "XGMI"}


def test_an_excerpt_that_is_not_json_is_read() -> None:
    text = (
        json.dumps(NEW, indent=4)
        .replace("1\n", "1,\n")
        .replace("        ]\n    }", "        ...\n        ]\n    },\n    ...")
    )
    result = parse_topology(text)
    assert result.complaints == [NO_JSON]
    assert link_types(result) == {(0, 1): "XGMI"}
    assert result.tables["num_hops"] == {(0, 0): "0", (0, 1): "1"}


@pytest.mark.parametrize("text", ["", "ERROR: no driver", "[", '[{"gpu": 0, "bdf": "0000', "[" * 100000, "{" * 100000])
def test_no_json_is_a_complaint(text: str) -> None:
    assert parse_topology(text) == ToolTables(complaints=[NO_JSON])


@pytest.mark.parametrize("data", [[], {}, ["x"], {"gpu_data": 7}, [{"gpu": True}], [{"gpu": "0"}], [{"gpu": -1}]])
def test_json_of_another_kind_has_no_result(data: object) -> None:
    assert parse_topology(json.dumps(data)) == ToolTables()
    assert parse_names(json.dumps(data)) == {}


@pytest.mark.parametrize("wrap", [False, True])
def test_names(wrap: bool) -> None:
    text = json.dumps({"gpu_data": STATIC} if wrap else STATIC)
    assert parse_names(text) == {"0000:0c:00.0": "AMD Instinct MI210"}
