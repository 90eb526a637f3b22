# SPDX-License-Identifier: GPL-3.0-or-later
"""What reads RDMA devices takes what comes: no text of a machine is an exception."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host import pci, sysfs
from ansible_collections.muster.train.plugins.module_utils._rdma import uverbs
from ansible_collections.muster.train.plugins.module_utils._rdma.devices import read_rdma
from ansible_collections.muster.train.plugins.module_utils._rdma.gids import gid_record, parse_gid
from ansible_collections.muster.train.plugins.module_utils._rdma.health import parse_acs_redirects
from ansible_collections.muster.train.plugins.module_utils._rdma.port import parse_rate, parse_signaling
from ansible_collections.muster.train.plugins.module_utils._records.gpu import RELATIONS
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma, choose_gid
from ansible_collections.muster.train.plugins.module_utils._text.order import natural
from ansible_collections.muster.train.tests.support import captures, rdma_trees
from ansible_collections.muster.train.tests.support.machines import Machine

pytestmark = pytest.mark.slow

SAMPLES = [
    "4: ACTIVE\n",
    "400 Gb/sec (4X NDR)\n",
    "0x12a\n",
    "-1",
    "N/A (no PMA)\n",
    "0000:0000:0000:0000:0000:ffff:0a00:0005\n",
    "fe80:0000:0000:0000:a288:c2ff:fe5b:03ec\n",
    "/sys/devices/pci0000:2b/0000:2b:00.0/0000:2c:00.0/0000:2d:04.0/infiniband/mlx5_0",
    'A=b\0PCIDEVICE_X_INFO={"0000:1a:00.5":{"generic":{},"rdma":{"rdma_dev":"mlx5_18"}}}\0PCIDEVICE_X=0000:1a:00.5\0',
    "RoCE v2\n",
    "mlx5_bond_10",
]
REAL = [line for kind in ("rdma", "sysfs") for text in captures.texts(kind) for line in text.splitlines()[:400] if line]
PIECES = [
    "",
    "\n",
    " ",
    ":",
    ".",
    "0",
    "x",
    "9" * 40,
    "\0",
    "\u0663",
    "\ud800",
    "\ufffd",
    "::",
    "{",
    "[",
    '"',
    "/",
    "-",
]


def mutate(text: str, chance: random.Random) -> str:
    parts = list(text[:400])
    for _change in range(chance.randrange(1, 9)):
        place = chance.randrange(len(parts)) if parts else 0
        parts[place : place + chance.randrange(3)] = chance.choice(PIECES)
    return "".join(parts)


def mutants(count: int) -> list[str]:
    chance = random.Random(42)
    return [
        mutate(chance.choice(SAMPLES if chance.random() < 0.6 or not REAL else REAL), chance) for _n in range(count)
    ]


def a_gid(text: str) -> object:
    raw = parse_gid(text)
    return (
        None if raw is None else choose_gid([gid_record(0, raw, text, None), gid_record(1, raw, "RoCE v2", text)], text)
    )


PARSERS: list[Callable[[str], object]] = [
    sysfs.number,
    sysfs.word,
    pci.normalize,
    pci.address_in,
    uverbs.parse_grants,
    parse_rate,
    parse_signaling,
    a_gid,
]


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)
def test_no_text_is_an_exception(parse: Callable[[str], object]) -> None:
    for text in mutants(10_000):
        parse(text)


def test_no_configuration_space_is_an_exception() -> None:
    chance = random.Random(5)
    for size in (0, 64, 65, 256, 260, 4095, 4096):
        for _case in range(500):
            assert parse_acs_redirects(chance.randbytes(size)) in (None, False, True)


def test_names_of_any_kind_have_an_order() -> None:
    keys = sorted(map(natural, mutants(10_000)))
    assert keys[0] < keys[-1]


def test_any_two_paths_have_a_relation() -> None:
    chance = random.Random(7)
    paths = [mutate(SAMPLES[7], chance) for _n in range(10_000)]
    for a, b in zip(paths, paths[1:]):
        assert pci.relation(a, b, chance.choice([None, 0, 1]), chance.choice([None, 0, -1])) in RELATIONS


def test_no_tree_is_an_exception(tmp_path: Path) -> None:
    chance = random.Random(11)
    tree = rdma_trees.Tree()
    tree.port("mlx5_0", "1", state="ACTIVE", phys_state="LinkUp", link_layer="Ethernet", rate="400 Gb/sec", lid="1")
    tree.gids("mlx5_0", "1", {3: ("::ffff:10.0.0.5", "RoCE v2", "rail0")}, size=4)
    tree.beside("mlx5_0", "numa_node", "1")
    files: dict[str, Any] = tree.manifest["files"]
    machine = Machine(tree.manifest, tmp_path)
    for _case in range(500):
        changed = [(chance.choice(list(files)), mutate(chance.choice(SAMPLES), chance)) for _file in range(3)]
        for path, text in changed:
            (tmp_path / path[1:]).write_text(text, encoding="utf-8", errors="replace")
        rdma = read_rdma(machine, lambda _warning: None)
        assert Rdma.from_dict(rdma.to_dict()) == rdma
        for path, _text in changed:
            (tmp_path / path[1:]).write_text(files[path], encoding="utf-8")
