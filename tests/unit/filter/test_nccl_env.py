# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the filter nccl_env: what goes in and out, what is refused, and once through Ansible's own templating."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.muster.train.plugins.filter.nccl_env import DOCUMENTATION, RETURN, FilterModule, nccl_env
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict
from ansible_collections.muster.train.tests.support.rdma_parts import gpu, hca, rdma, roce

ROOT = Path(__file__).resolve().parents[3]
HCAS = [hca("mlx5_0"), hca("mlx5_1"), roce("mlx5_bond_0", "10.0.0.1", netdev="eth0", rate=100.0)]


def node(number: int, **changes: Any) -> dict[str, Any]:
    facts = {"rdma": rdma(HCAS).to_dict(), "gpu": gpu().to_dict(), "node": facts_dict(number), "version": "2.27.3"}
    return {**facts, **changes}


def test_it_is_a_filter_with_documentation() -> None:
    assert FilterModule().filters() == {"nccl_env": nccl_env}
    assert yaml.safe_load(DOCUMENTATION)["name"] == "nccl_env"
    assert yaml.safe_load(RETURN)["_value"]["type"] == "dict"


def test_the_environment_of_every_node() -> None:
    result = nccl_env({"a": node(0), "b": node(1)})
    assert result["fabric"] == {"value": "rdma", "reason": "every node has usable RDMA ports"}
    assert result["nodes"]["b"]["env"] == {
        "GLOO_SOCKET_IFNAME": "eth0",
        "NCCL_IB_HCA": "=mlx5_0,mlx5_1",
        "NCCL_SOCKET_IFNAME": "=eth0",
    }
    [variable] = [variable for variable in result["nodes"]["a"]["variables"] if variable["name"] == "NCCL_IB_HCA"]
    assert (variable["rule"], variable["origin"]) == ("D2", "fabric")
    assert "NCCL_IB_GID_INDEX" in [variable["name"] for variable in result["nodes"]["a"]["not_set"]]
    assert result["nodes"]["a"]["hcas"] == ["mlx5_0", "mlx5_1"]
    assert result["findings"] == []
    assert json.loads(json.dumps(result)) == result


def test_what_users_set_wins_and_is_linted() -> None:
    result = nccl_env({"a": node(0, environment={"NCCL_IB_HCA": "mlx5", "NCCL_P2P_LEVEL": "NVL"})})
    assert result["nodes"]["a"]["env"]["NCCL_IB_HCA"] == "mlx5"
    observations = [finding["observed"] for finding in result["findings"] if finding["source"] == "environment"]
    assert [part for part in ("cannot work together", "disables P2P over PCIe") if part in " ".join(observations)] == [
        "cannot work together",
        "disables P2P over PCIe",
    ]


def test_the_version_and_the_library_can_be_told() -> None:
    rail = rdma([roce("mlx5_0", "10.2.0.1", netdev="eth4")]).to_dict()
    assert nccl_env({"a": node(0, rdma=rail, version="2.19.3")})["nodes"]["a"]["env"]["NCCL_IB_GID_INDEX"] == "3"
    assert "NCCL_IB_GID_INDEX" not in nccl_env({"a": node(0, rdma=rail)})["nodes"]["a"]["env"]
    left = nccl_env({"a": node(0, library="rccl")})["nodes"]["a"]["not_set"]
    assert "XGMI" in {variable["name"]: variable["reason"] for variable in left}["NCCL_P2P_LEVEL"]


def test_what_is_missing_is_not_known() -> None:
    result = nccl_env({"a": {}}, mode="tcp")
    assert result["nodes"]["a"]["env"] == {"NCCL_IB_DISABLE": "1"}
    assert [finding["status"] for finding in nccl_env({"a": {}})["findings"]] == ["error"]
    assert nccl_env({}) == {
        "fabric": {"value": "tcp", "reason": "no node has RDMA devices"},
        "nodes": {},
        "findings": [],
    }


def test_the_heads_address_leads_each_nodes_sockets() -> None:
    result = nccl_env({"a": node(0), "b": node(1)}, head_address="192.168.7.1")
    assert result["nodes"]["b"]["env"]["GLOO_SOCKET_IFNAME"] == "eth1"


@pytest.mark.parametrize(
    ("nodes", "options", "part"),
    [
        ([], {}, "expected a mapping"),
        ({"a": 3}, {}, "expected a mapping"),
        ({"a": {"rdma": 3}}, {}, "a: not facts of this collection"),
        ({"a": {"rdma": {}}}, {}, "a: not facts of this collection"),
        ({"a": {"node": {"hostname": "x"}}}, {}, "a: not facts of this collection"),
        ({"a": {"library": "mccl"}}, {}, "a: library is 'mccl'"),
        ({"a": {"environment": "A=1"}}, {}, "a: environment is not a mapping"),
        ({"a": {"version": "abc"}}, {}, "a: version is 'abc'"),
        ({"a": {}}, {"mode": "ib"}, "mode is 'ib'"),
        ({"a": {}}, {"head_address": "1.2.3"}, "head_address is '1.2.3'"),
    ],
)
def test_what_is_no_such_thing_is_refused(nodes: Any, options: dict[str, str], part: str) -> None:
    with pytest.raises(AnsibleFilterError, match="nccl_env: ") as caught:
        nccl_env(nodes, **options)
    assert part in str(caught.value)


@pytest.mark.slow
def test_through_ansible(tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text(json.dumps({"a": node(0)}))
    (tmp_path / "ansible.cfg").touch()
    message = (
        f"{{{{ lookup('file', '{tmp_path}/facts.json') | from_json | muster.train.nccl_env(mode='rdma') | to_json }}}}"
    )
    settings = {"ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"), "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg")}
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible")),
            *("localhost", "-m", "ansible.builtin.debug", "-a", json.dumps({"msg": message})),
        ],
        env={**os.environ, **settings, "ANSIBLE_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "=mlx5_0,mlx5_1" in done.stdout
