# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventories that are documentation: read as Ansible reads them, and planned on machines of tests/machines."""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.utils.vars import transform_to_native_types
from ansible.vars.manager import VariableManager

from ansible_collections.muster.train.plugins.module_utils._records.node import Code, File, TrainingPython
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import NAMES
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_DEFAULTS, LAUNCH_NODE_ENV
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import Refusal, resolve_parameters
from ansible_collections.muster.train.tests.support.plan_parts import POLICY, read_policy, request
from ansible_collections.muster.train.tools._machine.machine import MACHINES
from ansible_collections.muster.train.tools._machine.manifest import read
from ansible_collections.muster.train.tools._machine.show import cluster_of

ROOT = Path(__file__).resolve().parents[2]
# The machine of each, and what its nodes' own facts decide of the environment, by name.
CLUSTERS: dict[str, tuple[str, dict[str, str]]] = {
    "aorta_mi350": (
        "mi300x_bnxt",
        {"NCCL_SOCKET_IFNAME": "=eno8303", "NCCL_IB_GID_INDEX": "3"},
    ),
    "h100_roce": (
        "hgx_h100_roce",
        {
            "NCCL_SOCKET_IFNAME": "=bond0",
            "NCCL_IB_HCA": "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_6,mlx5_7,mlx5_8,mlx5_9",
        },
    ),
    "bare_metal": (
        "dgx_a100",
        {
            "NCCL_SOCKET_IFNAME": "=enp226s0",
            "NCCL_IB_HCA": "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_6,mlx5_7,mlx5_8,mlx5_9",
        },
    ),
    "template": ("rtx4090", {"NCCL_SOCKET_IFNAME": "=enp1s0f0", "NCCL_IB_DISABLE": "1"}),
}
FABRIC_NAMES = ("NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_NET")


@functools.cache
def variables(cluster: str) -> dict[str, dict[str, Any]]:
    """The variables of the nodes in their order, as Ansible reads them from the directory."""
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(ROOT / "inventories" / cluster)])
    manager = VariableManager(loader=loader, inventory=inventory)
    return {
        host.name: transform_to_native_types(manager.get_vars(host=host, include_hostvars=False))
        for host in inventory.groups["nodes"].get_hosts()
    }


@functools.cache
def plan(cluster: str) -> dict[str, Any]:
    """The plan of a launch without options."""
    machine, _environment = CLUSTERS[cluster]
    text = (MACHINES / f"{machine}.yml").read_text(encoding="utf-8")
    peer = yaml.safe_load((MACHINES / "expected" / f"{machine}.yml").read_text(encoding="utf-8"))["peer"]
    other = text
    for old, new in peer.items():
        other = other.replace(old, new)
    hosts = variables(cluster)
    head = next(iter(hosts.values()))
    refusals: list[Refusal] = []
    settings = resolve_parameters("launch", {}, {}, head.get("launch_defaults", {}), refusals)
    assert refusals == []
    names = [settings[name]["value"] for name in ("script", "config")]
    machines = cluster_of(dict(zip(hosts, (read(text), read(other)), strict=True)))
    nodes = []
    for name, variable in hosts.items():
        defaults = {"launch_code_dir": "~/muster/code", "launch_workdir": "~/muster", "launch_python": "python3"}
        where = {key: variable.get(key, value) for key, value in defaults.items()}
        files = [*filter(None, names), variable.get("launch_compose_file", "~/muster/container/compose.yaml")]
        facts = dataclasses.replace(
            machines[name].node,
            code=Code(where["launch_code_dir"], True, "a" * 40, "main", False),
            python=TrainingPython(where["launch_python"], where["launch_python"]),
            workdir=dataclasses.replace(machines[name].node.workdir, path=where["launch_workdir"], identity=name),
            files={file: File(file, True, True, "1" * 64) for file in files},
        )
        nodes.append(
            Node(
                name,
                facts,
                machines[name].rdma,
                machines[name].gpu,
                variable["ansible_host"],
                [(variable.get("launch_node_env", {}), LAUNCH_NODE_ENV)],
                {key: value for key, value in variable.items() if key in NAMES},
            )
        )
    asked = {**request(2), "parameters": settings, "nodes": list(hosts)}
    policy = read_policy({**POLICY, **{name: head[name] for name in NAMES if name in head}})
    return make_plan(asked, policy, nodes)


def environment(cluster: str, node: int = 0) -> dict[str, str]:
    job = list(plan(cluster)["jobs"].values())[node]
    return {variable["name"]: variable["value"] for variable in job["environment"]}


each_cluster = pytest.mark.parametrize("cluster", CLUSTERS)


def test_every_inventory_is_tested() -> None:
    folders = {path.name for path in (ROOT / "inventories").iterdir() if path.is_dir()}
    assert folders == {*CLUSTERS, "local", "slurm", "openshift"}


@each_cluster
def test_addresses_are_those_of_documentation(cluster: str) -> None:
    addresses = [host["ansible_host"] for host in variables(cluster).values()]
    assert len(addresses) == 2
    assert all(address.startswith("192.0.2.") for address in addresses)


@each_cluster
def test_what_the_facts_decide(cluster: str) -> None:
    for node in range(2):
        fabric = {name: value for name, value in environment(cluster, node).items() if name in FABRIC_NAMES}
        assert fabric == CLUSTERS[cluster][1]


@each_cluster
def test_what_the_cluster_sets_is_what_the_ranks_get(cluster: str) -> None:
    head = next(iter(variables(cluster).values()))
    assert head["launch_env"].items() <= environment(cluster).items()
    assert plan(cluster)["fabric"]["value"] == head["launch_defaults"].get("mode", "tcp")
    assert plan(cluster)["nproc"] == 8
    runtimes = {job["runtime"] for job in plan(cluster)["jobs"].values()}
    assert runtimes == {head.get("launch_runtime", "host")}


def test_aorta_launches_as_its_scripts_do() -> None:
    variables_of_ranks = environment("aorta_mi350")
    assert (variables_of_ranks["NCCL_MIN_NCHANNELS"], variables_of_ranks["NCCL_MAX_NCHANNELS"]) == ("28", "28")
    assert (variables_of_ranks["NCCL_NTHREADS"], variables_of_ranks["RCCL_THREADS_PER_BLOCK"]) == ("256", "256")
    assert variables_of_ranks["NCCL_NCHANNELS_PER_NET_PEER"] == "8"
    settings = {
        name: (setting["value"], setting["origin"]) for name, setting in plan("aorta_mi350")["parameters"].items()
    }
    assert settings["config"] == ("config/multi_node/distributed_multinode.yaml", LAUNCH_DEFAULTS.label)
    job = plan("aorta_mi350")["jobs"]["mi350-01"]
    assert job["container"]["service"] == "train"
    assert "profiling.tensorboard=false" in job["argv"]
    # The seed's NCCL_PROTO is reported on every node, and nothing else; the disk is that of this machine.
    findings = plan("aorta_mi350")["findings"]
    assert {finding["observed"] for finding in findings if finding["check"] != "disks"} == {
        "set for every run: NCCL_PROTO=Simple"
    }


def test_what_is_left_to_the_library_has_its_reason() -> None:
    left = {variable["name"]: variable["reason"] for variable in plan("h100_roce")["not_set"]["h100-01"]}
    assert "finds the RoCE v2 entry on its own (index 3)" in left["NCCL_IB_GID_INDEX"]
    left = {variable["name"]: variable["reason"] for variable in plan("aorta_mi350")["not_set"]["mi350-01"]}
    assert "these are the 8 Ethernet ports" in left["NCCL_IB_HCA"]


def test_the_template_has_every_variable_of_every_role() -> None:
    text = (ROOT / "inventories" / "template" / "group_vars" / "nodes.yml").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^(?:# )?([a-z]\w+):(.*)$", text, re.MULTILINE))
    for specification in sorted(ROOT.glob("roles/*/meta/argument_specs.yml")):
        for entry_point in yaml.safe_load(specification.read_text(encoding="utf-8"))["argument_specs"].values():
            for name, option in entry_point["options"].items():
                assert name in shown, f"{name} of {specification.parents[1].name}"
                if option["default"] != {} and not isinstance(option["default"], dict):
                    assert yaml.safe_load(shown[name]) == option["default"], name
