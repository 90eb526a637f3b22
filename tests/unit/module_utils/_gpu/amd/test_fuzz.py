# SPDX-License-Identifier: GPL-3.0-or-later
"""What AMD's tools and KFD print, damaged ten thousand times for each parser: no exception, and records that hold."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._gpu.amd.kfd import KfdNode, parse_properties
from ansible_collections.muster.train.plugins.module_utils._gpu.amd.smi_output import parse_names, parse_topology
from ansible_collections.muster.train.plugins.module_utils._gpu.amd.topology import (
    BDF,
    ToolTables,
    link_types,
    parse_tables,
)
from ansible_collections.muster.train.tests.support.amd_machines import mi250, mi300x_cpx
from ansible_collections.muster.train.tests.support.captures import texts
from ansible_collections.muster.train.tests.unit.module_utils._gpu.amd.test_smi_output import NEW, OLD, STATIC
from ansible_collections.muster.train.tests.unit.module_utils._gpu.amd.test_topology import ROCM_SMI

pytestmark = pytest.mark.slow

INPUTS = 10_000
TREES = [text for made in (mi250(), mi300x_cpx()) for text in made["files"].values() if text]
SAMPLES = [ROCM_SMI, *(json.dumps(shape, indent=4) for shape in (OLD, NEW, STATIC, {"gpu_data": NEW})), *TREES[:40]]
SAMPLES += texts("amd_topo")
BITS = [
    "", "\n", " ", "\t", "-", ":", ",", "{", "}", "[", "]", '"', "null", "1e999", "9" * 40, "9" * 5000, "\0", "\u0663",
    "\x1b[4m", "GPU0", "GPU99999", "GPU[7] : a: b\n", "XXXX", "XGMI", "0000:0c:00.0", " LINK TYPE TABLE:\n", "...\n",
]  # fmt: skip


def mutate(sample: str, chance: random.Random) -> str:
    begin = chance.randrange(len(sample)) if chance.random() < 0.3 else 0
    parts = list(sample[begin : begin + chance.randrange(20, 1500)])
    for _change in range(chance.randrange(1, 12)):
        place = chance.randrange(len(parts)) if parts else 0
        parts[place : place + chance.randrange(3)] = chance.choice(BITS)
    return "".join(parts)


def check_topology(result: ToolTables) -> None:
    assert set(result.addresses) <= set(result.gpus)
    assert all(BDF.fullmatch(address) for address in result.addresses.values())
    assert all(a < b and word in ("XGMI", "PCIE") for (a, b), word in link_types(result).items())


def check_names(result: dict[str, str]) -> None:
    assert all(result.values())


def check_properties(result: dict[str, int]) -> None:
    known = {name: max(0, value) for name, value in result.items() if name in KfdNode.__dataclass_fields__}
    node = KfdNode(**{**known, "number": 1})
    assert node.address is None or BDF.fullmatch(node.address)


@pytest.mark.parametrize(
    ("parse", "check"),
    [
        (parse_tables, check_topology),
        (parse_topology, check_topology),
        (parse_names, check_names),
        (parse_properties, check_properties),
    ],
    ids=["parse_tables", "parse_topology", "parse_names", "parse_properties"],
)
def test_no_text_is_an_exception(parse: Callable[[str], Any], check: Callable[[Any], None]) -> None:
    chance = random.Random(20261121)
    for _number in range(INPUTS):
        check(parse(mutate(chance.choice(SAMPLES), chance)))


@pytest.mark.parametrize("parse", [parse_tables, parse_topology, parse_names, parse_properties])
@pytest.mark.parametrize("text", ["\n", " ", "[", "=", "GPU0 ", "GPU0: a ", "...\n", '{"a":', "x \n]"])
def test_much_of_one_thing_takes_no_quadratic_time(parse: Callable[[str], Any], text: str) -> None:
    assert parse(text * (300_000 // len(text))) is not None  # squared it is the rest of the day
