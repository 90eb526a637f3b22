# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of where a node's runs and slots are."""

from __future__ import annotations

import os

import pytest

from ansible_collections.muster.train.plugins.module_utils._records import layout

NAMES = [
    "gpu-01.example.org",
    "a/b",
    "a+2fb",
    "..",
    ".",
    "...",
    "fd00::1",
    "Nöd",
    "x" * 400,
    "x" * 401,
    "%h",
    "\ud800",
    "$HOME",
]


@pytest.mark.parametrize("node", NAMES)
def test_a_name_is_one_part_of_a_path(node: str) -> None:
    name = layout.safe_name(node)
    assert os.path.normpath(f"/work/{name}") == f"/work/{name}"
    assert "/" not in name and not name.startswith(".")
    assert len(name) < 255 and name.isascii() and name.isprintable()
    # systemd takes % for a specifier, the shell and compose files $ for a variable.
    assert not set("%$ ") & set(name)


def test_no_two_nodes_have_one_directory() -> None:
    assert len({layout.node_dir("/w", node) for node in NAMES}) == len(NAMES)


def test_the_directories_of_a_node() -> None:
    assert layout.run_dir("/w", "node0", "r1") == "/w/.muster/nodes/node0/runs/r1"
    assert layout.slots_dir("/w", "node0") == "/w/.muster/nodes/node0/slots"
    assert layout.parents("/w", "a:b") == ["/w/.muster", "/w/.muster/nodes", "/w/.muster/nodes/a+3ab"]
