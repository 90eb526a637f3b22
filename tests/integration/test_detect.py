# SPDX-License-Identifier: GPL-3.0-or-later
"""`detect` on the embedded kind of cluster, and the role `nccl_env`: twice, in check mode, with a change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.play import Played

ROLE = """
- name: Write the environment
  hosts: nodes
  gather_facts: false
  tasks:
    - name: Write the environment
      ansible.builtin.import_role:
        name: muster.train.nccl_env
"""


def detect(cluster: Cluster, *extra: str, **parameters: Any) -> Played:
    return cluster.verb("detect", *extra, **{"page": str(cluster.home / "detect.html"), **parameters})


@pytest.mark.gate
def test_detect_prints_and_draws_the_nodes(cluster: Cluster) -> None:
    cluster.policy["launch_env"] = {"NCCL_DEBUG": "WARN"}
    cluster.write()
    first = detect(cluster)
    assert first.rc == 0, first.out
    assert "Traceback" not in first.out
    for line in ("cluster: 2 nodes, 2 answered", "    NCCL_DEBUG=WARN"):
        assert line in first.out.splitlines()
    assert re.search(r"^  GPUs: +\S", first.out, re.MULTILINE)
    assert re.search(r"^  HCAs: +\S", first.out, re.MULTILINE)
    page = (cluster.home / "detect.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    document = json.loads((cluster.home / "detect.json").read_text())
    assert list(document["nodes"]) == cluster.names
    assert {"rdma", "gpu", "node"} == set(document["nodes"]["node1"]["facts"])

    again = detect(cluster, output="json")
    assert again.rc == 0, again.out
    printed = re.search(r"^\{\n.*?^\}$", again.out, re.MULTILINE | re.DOTALL)
    assert printed, again.out
    written = json.loads((cluster.home / "detect.json").read_text())
    # The document of the verb has all of it, and whether it failed.
    assert {key: value for key, value in json.loads(printed[0]).items() if key in written} == written
    assert again.changed == {"localhost": 0, "node0": 0, "node1": 0}


def test_detect_refuses_before_any_node_is_contacted(cluster: Cluster) -> None:
    played = detect(cluster, output="yaml")
    assert played.rc == 2
    assert played.messages == ["output: expected one of table, json, saw 'yaml' (-e output)"]
    assert not cluster.remote_tmp.exists()
    assert not (cluster.home / "detect.html").exists()


def test_detect_shows_the_others_when_a_node_does_not_answer(cluster: Cluster) -> None:
    cluster.per_node = {"node0": {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}}
    cluster.write()
    played = detect(cluster)
    assert played.rc != 0
    assert "cluster: 2 nodes, 1 answered" in played.out
    assert "  node0: no answer: " in played.out
    assert "node0: answer: " in played.out
    assert (cluster.home / "detect.html").is_file()


def write(cluster: Cluster, *extra: str) -> Played:
    playbook = cluster.home / "role.yml"
    playbook.write_text(ROLE)
    return cluster.play(str(playbook), *extra)


def files(cluster: Cluster, node: str = "node0") -> dict[str, str]:
    return {path.name: path.read_text() for path in (cluster.home / "env" / node).glob("*")}


@pytest.fixture
def role(cluster: Cluster) -> Cluster:
    """A cluster whose policy is all given, so that what is decided is known to the byte."""
    cluster.policy.update(
        nccl_env_dir=str(cluster.home / "env") + "/{{ inventory_hostname }}",
        nccl_env_head_address="127.0.0.1",
        nccl_env_mode="tcp",
        nccl_env_library="nccl",
        nccl_env_version="2.23.4",
        nccl_env_variables={"NCCL_DEBUG": "WARN"},
    )
    cluster.per_node = {"node1": {"nccl_env_node_variables": {"NCCL_DEBUG": "INFO", "MINE": "1"}}}
    cluster.write()
    return cluster


def test_the_role_writes_the_files_of_every_node(role: Cluster) -> None:
    predicted = write(role, "--check", "--diff")
    assert predicted.rc == 0, predicted.out
    assert predicted.changed == {"node0": 2, "node1": 2}
    assert "+NCCL_DEBUG=WARN" in predicted.out
    assert not (role.home / "env").exists()

    written = write(role)
    assert (written.rc, written.changed) == (0, predicted.changed), written.out
    assert sorted(files(role)) == ["nccl.conf", "nccl.env", "nccl.sh"]
    assert set(files(role)["nccl.conf"].splitlines()) >= {"NCCL_DEBUG=WARN", "NCCL_SOCKET_IFNAME==lo"}
    assert all(re.fullmatch(r"NCCL_[A-Z0-9_]+=\S+", line) for line in files(role)["nccl.conf"].splitlines())
    assert files(role, "node1")["nccl.conf"] == files(role)["nccl.conf"].replace("WARN", "INFO")
    assert "export NCCL_SOCKET_IFNAME='=lo'" in files(role)["nccl.sh"].splitlines()
    assert "MINE=1" in files(role, "node1")["nccl.env"].splitlines()
    modes = {path.stat().st_mode & 0o777 for path in (role.home / "env").glob("*/*")}
    assert modes == {0o644}

    again = write(role)
    assert (again.rc, again.changed) == (0, {"node0": 0, "node1": 0}), again.out


def test_the_role_keeps_what_it_changes(role: Cluster) -> None:
    assert write(role).rc == 0
    before = files(role)
    role.policy["nccl_env_variables"] = {"NCCL_DEBUG": "VERSION"}
    role.write()
    predicted = write(role, "--check", "--diff")
    assert predicted.changed == {"node0": 1, "node1": 1}, predicted.out
    assert "-NCCL_DEBUG=WARN" in predicted.out and "+NCCL_DEBUG=VERSION" in predicted.out
    assert files(role) == before
    written = write(role)
    assert (written.rc, written.changed) == (0, predicted.changed), written.out
    after = files(role)
    assert after["nccl.conf"] == before["nccl.conf"].replace("WARN", "VERSION")
    kept = {name: text for name, text in after.items() if name not in before}
    assert sorted(kept.values()) == sorted(before.values())


def test_the_role_refuses_what_it_cannot_write(role: Cluster, tmp_path: Path) -> None:
    role.policy["nccl_env_variables"] = {"MINE": "it's"}
    role.write()
    played = write(role)
    assert played.rc == 2
    assert played.messages[0].startswith("node0: file: MINE=it's: an environment file for compose")
    assert not (tmp_path / "env").exists()
