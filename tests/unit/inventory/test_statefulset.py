# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the inventory plugin `statefulset` without a cluster, through Ansible's own inventory."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.play import PLAYBOOK, ROOT
from ansible_collections.muster.train.tests.support.pod_objects import listing, pod, statefulset

pytestmark = pytest.mark.slow
INVENTORY = [sys.executable, "-m", "ansible", "inventory", "--list", "--export"]
SETTINGS = {"context": "prod", "namespace": "training", "statefulset": "trainer", "container": "main", "group": "pods"}


def run(
    tmp_path: Path, command: list[str], *items: dict[str, Any], **settings: str
) -> subprocess.CompletedProcess[str]:
    """What a command makes of these settings, where kubectl says that there are these objects."""
    (tmp_path / "objects.json").write_text(listing(*items))
    source, client = tmp_path / "statefulset.yml", tmp_path / "kubectl"
    source.write_text(json.dumps({"plugin": "muster.train.statefulset", **settings}))
    client.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/typed\nexec cat {tmp_path}/objects.json\n')
    client.chmod(0o755)
    return subprocess.run(
        [*command, "-i", str(source)],
        env={**os.environ, "ANSIBLE_CONFIG": "ansible.cfg", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_pods_and_what_was_asked(tmp_path: Path) -> None:
    done = run(tmp_path, INVENTORY, statefulset(), pod("trainer-1"), pod("trainer-0"), **SETTINGS)
    groups = json.loads(done.stdout)
    assert groups["pods"]["hosts"] == ["trainer-0", "trainer-1"]
    assert groups["_meta"]["hostvars"]["trainer-1"]["pod_ready"] is True
    assert groups["pods"]["vars"]["ansible_kubectl_container"] == "main"
    typed = shlex.split((tmp_path / "typed").read_text())
    assert typed[:2] == ["--context=prod", "--namespace=training"]
    assert typed[-3:] == ["get", "statefulsets,pods", "--output=json"]


def test_an_empty_group_and_a_warning(tmp_path: Path) -> None:
    done = run(tmp_path, INVENTORY, statefulset(replicas=0))
    assert "nodes" not in json.loads(done.stdout)
    assert done.stderr.count("[WARNING]") == 1


def test_a_verb_says_why_there_are_no_nodes(tmp_path: Path) -> None:
    done = run(tmp_path, [*PLAYBOOK, "launch.yml"], statefulset(replicas=0))
    assert done.returncode != 0
    assert "0 replicas" in " ".join((done.stdout + done.stderr).split())


def test_a_client_that_is_not_there(tmp_path: Path) -> None:
    done = run(tmp_path, INVENTORY, binary="oc")
    assert (done.returncode, done.stdout) == (4, "")
    assert "oc was not found" in " ".join(done.stderr.split())
