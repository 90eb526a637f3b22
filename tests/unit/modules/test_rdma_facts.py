# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as Ansible runs it: options in, JSON out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma
from ansible_collections.muster.train.plugins.modules import rdma_facts
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.modules import run_module
from ansible_collections.muster.train.tests.support.rdma_trees import Tree


def test_facts_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = Tree()
    tree.port("mlx5_0", "1", state="ACTIVE", link_layer="InfiniBand", sm_lid="1")
    Machine(tree.manifest, tmp_path)
    result = run_module(rdma_facts, capsys, root=str(tmp_path), _ansible_check_mode=True)
    assert "failed" not in result
    assert result["warnings"] == []
    assert result["changed"] is False
    assert list(result["ansible_facts"]) == ["rdma"]
    rdma = result["ansible_facts"]["rdma"]
    assert Rdma.from_dict(rdma).to_dict() == rdma
    assert rdma["usable"]


def test_a_root_that_is_not_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_module(rdma_facts, capsys, root=str(tmp_path / "no"))
    assert result["ansible_facts"]["rdma"]["hcas"] == []
    assert len(result["warnings"]) == 2
    assert result["warnings"][0] == f"root {tmp_path / 'no'} is not a directory, so nothing can be read"
    rdma = result["ansible_facts"]["rdma"]
    assert (rdma["usable"], rdma["hcas"], set(rdma["gdr"].values())) == (None, [], {None})


def test_every_key_is_documented(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = Tree()
    tree.port("mlx5_0", "1", state="ACTIVE", link_layer="Ethernet")
    tree.gids("mlx5_0", "1", {0: ("::ffff:10.0.0.5", "RoCE v2", "rail0")})
    Machine(tree.manifest, tmp_path)
    documented = yaml.safe_load(rdma_facts.RETURN)["ansible_facts"]["contains"]

    def compare(value: Any, contains: dict[str, Any], where: str) -> None:
        assert list(value) == list(contains), where
        for key, item in value.items():
            deeper = contains[key].get("contains")
            if deeper is not None:
                compare(item[0] if isinstance(item, list) else item, deeper, f"{where}.{key}")

    compare(run_module(rdma_facts, capsys, root=str(tmp_path))["ansible_facts"], documented, "ansible_facts")
