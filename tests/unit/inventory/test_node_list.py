# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the inventory plugin `node_list`, through Ansible's own inventory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


def inventory(source: Path, **environment: str) -> tuple[dict[str, Any], str]:
    """What `ansible-inventory --list` makes of it with the checkout's ansible.cfg, and what it says beside."""
    done = subprocess.run(
        [sys.executable, "-m", "ansible", "inventory", "-i", str(source), "--list", "--export"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return (json.loads(done.stdout) if done.returncode == 0 else {}), done.stderr


def test_a_node_ip_list_is_an_inventory(tmp_path: Path) -> None:
    source = tmp_path / "node_ip_list.txt"
    source.write_text("zeta\n\nann@10.0.0.7:2222  # rack 2\nalpha\n")
    groups, stderr = inventory(source)
    assert groups["nodes"]["hosts"] == ["zeta", "10.0.0.7", "alpha"]
    # Text from a plain file is data: a template in it would not be one.
    assert groups["_meta"]["hostvars"]["10.0.0.7"] == {
        "ansible_user": {"__ansible_unsafe": "ann"},
        "ansible_port": 2222,
    }
    assert stderr == ""


def test_group_vars_next_to_the_list_are_its_policy(tmp_path: Path) -> None:
    (tmp_path / "a.node_list.txt").write_text("one\ntwo\n")
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "nodes.yml").write_text("launch_slot: mine\n")
    groups, _stderr = inventory(tmp_path / "a.node_list.txt")
    assert groups["nodes"]["vars"] == {"launch_slot": "mine"}


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("path: lists/mine", ["b", "a"]),
        ("hosts: ['head', 'gpu[1-2]']", ["head", "gpu1", "gpu2"]),
    ],
)
def test_a_configuration_file(text: str, hosts: list[str], tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "mine").write_text("b\na\n")
    (tmp_path / "node_list.yml").write_text(f"plugin: muster.train.node_list\ngroup: mine\n{text}\n")
    # In the directory, and without the line in ansible.cfg.
    groups, _stderr = inventory(tmp_path / "node_list.yml", ANSIBLE_INVENTORY_ENABLED="auto")
    assert groups["mine"]["hosts"] == hosts


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("node_ip_list.txt", "a\nb\nA\n", "line 3: A is given twice, first by line 1"),
        ("node_ip_list.txt", "a\n-oProxyCommand=x\n", "line 2: '-oProxyCommand=x' is not a host name"),
        ("node_list.yml", "plugin: muster.train.node_list\n", "expected either path or hosts"),
        ("node_list.yml", "plugin: muster.train.node_list\npath: no\nhosts: [a]\n", "expected either path or hosts"),
        ("node_list.yml", "plugin: muster.train.node_list\npath: absent.txt\n", "absent.txt: could not be read"),
        ("node_list.yml", "plugin: muster.train.node_list\nhosts: [a, a]\n", "a is given twice"),
    ],
)
def test_an_error_is_reported_and_no_group_is_made(name: str, text: str, line: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    groups, stderr = inventory(tmp_path / name)
    assert "nodes" not in groups
    assert line in " ".join(stderr.split())


def test_other_files_are_not_taken(tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("[nodes]\nb\na\n")
    groups, _stderr = inventory(tmp_path / "hosts.txt")
    assert groups["nodes"]["hosts"] == ["b", "a"], "Ansible's own plugins read it"
