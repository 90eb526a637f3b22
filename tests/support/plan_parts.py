# SPDX-License-Identifier: GPL-3.0-or-later
"""What plans are made of, for tests: facts, policy and request of a small cluster, each with any part changed."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Cluster
from ansible_collections.muster.train.plugins.plugin_utils._checks.policy import BY_DEFAULT, CheckPolicy
from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import run
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import LAUNCH_NODE_ENV
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._request.verbs import VERBS
from ansible_collections.muster.train.tests.support.rdma_parts import rdma

NO_GPU: Mapping[str, Any] = MappingProxyType({"vendor": None, "count": 0})
RUN_ID = "multinode_42ch_autoth_20261120_143052"
NONCE = "000000000000000000000000000000ff"

POLICY: dict[str, Any] = {
    "launch_env": {},
    "launch_head_address": "",
    "launch_port_range": "29400-29999",
    "launch_slot": "default",
    "launch_cwd": "code",
    "launch_runtime": "host",
    "launch_compose_file": "~/muster/container/compose.yaml",
    "launch_compose_service": "train",
    "launch_docker": ["docker"],
    "launch_image": "",
    "launch_apptainer": ["apptainer"],
    "launch_apptainer_options": [],
    "launch_binds": [],
    "launch_starter": "auto",
    "launch_stop_grace": 60,
    "launch_abort_grace": 10,
    "launch_traceback_grace": 120,
    "launch_background_wait": 60,
    "launch_checkpoint_dir": "",
    "launch_shared_output_dir": "",
    "launch_join_timeout": 20,
    "launch_lost_after": 12,
    "launch_disk_wait": 300,
    "launch_log_limit_mib": 256,
    "launch_slurm_end": "",
    "launch_slurm_kill_wait": 0,
    "launch_collect_exclude": ["checkpoints", "checkpoint-*", "*.safetensors", "*.pt", "*.pth", "*.ckpt", "*.distcp"],
    "launch_collect_limit_mib": 1024,
}


def facts_dict(number: int, **changes: Any) -> dict[str, Any]:
    """Facts of machine `number` of a CPU cluster, as node_facts returns them; a change is part=… or part__key=…."""
    address = f"10.0.{number // 200}.{number % 200 + 1}"
    facts: dict[str, Any] = {
        "hostname": f"host{number}",
        "machine_id": f"{number:032x}",
        "boot_id": f"boot-{number}",
        "user": {"name": "ann", "uid": 1000, "home": "/home/ann"},
        "cpus": 8,
        "net": {
            "addresses": [
                {"address": "127.0.0.1", "interface": "lo"},
                {"address": address, "interface": "eth0"},
                {"address": f"192.168.7.{number % 200 + 1}", "interface": "eth1"},
            ],
            "routes": [
                {"destination": "0.0.0.0/0", "interface": "eth0", "gateway": "10.0.255.254", "metric": 100},
                {"destination": "10.0.0.0/16", "interface": "eth0", "gateway": None, "metric": 100},
                {"destination": "127.0.0.0/8", "interface": "lo", "gateway": None, "metric": 0},
                {"destination": "192.168.7.0/24", "interface": "eth1", "gateway": None, "metric": 101},
            ],
            "listening": [22],
            "holders": {},
        },
        "workdir": {
            "path": "/home/ann/muster",
            "identity": f"{number:032x}/boot-{number}/259:2:77",
            "writable": True,
            "free_bytes": 10**12,
            "filesystem": "ext4",
        },
        "code": {
            "path": "/home/ann/code",
            "exists": True,
            "commit": "a" * 40,
            "branch": "main",
            "dirty": False,
            "source": "git",
        },
        "python": {"command": "python3", "path": "/usr/bin/python3"},
        "files": {
            "train.py": {"path": "/home/ann/code/train.py", "exists": True, "readable": True, "sha256": "1" * 64},
            "big.yaml": {"path": "/home/ann/code/big.yaml", "exists": True, "readable": True, "sha256": "2" * 64},
        },
        "config": None,
        "systemd": {"booted": True, "linger": False},
        "memlock": {"soft": -1, "hard": -1, "cap_ipc_lock": False, "effective": -1},
        "holder": None,
        "limits": None,
        "container": {"kind": None},
        "disks": None,
        "versions": {
            "python": "3.11.2",
            "torch": "2.6.0+cpu",
            "site_packages": ["/usr/lib/python3/dist-packages"],
            "sources": {"torch": "/usr/lib/python3/dist-packages/torch/version.py"},
        },
        "tools": None,
        "kernel": None,
        "timings": {"net": 3},
    }
    for key, value in changes.items():
        part, _separator, inner = key.partition("__")
        if inner:
            facts[part][inner] = value
        else:
            facts[part] = value
    return facts


def facts(number: int, **changes: Any) -> NodeFacts:
    """The same as a record."""
    return NodeFacts.from_dict(facts_dict(number, **changes))


def node(
    number: int,
    env: dict[str, Any] | None = None,
    gpu: Mapping[str, Any] | None = NO_GPU,
    hcas: Sequence[Hca] | None = (),
    srun_job: str | None = None,
    **changes: Any,
) -> Node:
    """Node `number`: reached by its name, which is not an address. gpu or hcas None: they could not be read."""
    return Node(
        f"node{number}",
        facts(number, **changes),
        address=f"node{number}",
        layers=[(env or {}, LAUNCH_NODE_ENV)],
        rdma=None if hcas is None else rdma(hcas),
        gpu=None if gpu is None else Gpu.from_dict(dict(gpu)),
        srun_job=srun_job,
    )


def nodes(count: int, **changes: Any) -> list[Node]:
    """Some nodes that differ in nothing but their machine."""
    return [node(number, **copy.deepcopy(changes)) for number in range(count)]


def policy(**changes: Any) -> ClusterPolicy:
    """The role's defaults, with `name=value` for launch_NAME."""
    return read_policy({**POLICY, **{f"launch_{name}": value for name, value in changes.items()}})


def read_policy(variables: Mapping[str, Any]) -> ClusterPolicy:
    """The policy of these variables; raises PlanError with all that cannot be read."""
    policy, faults = ClusterPolicy.read(variables)
    if faults:
        raise PlanError(faults)
    return policy


def given(value: Any, name: str) -> dict[str, Any]:
    """A parameter given with -e."""
    return {"value": value, "origin": f"-e {name}", "layer": "extra_vars"}


def settings(**changes: Any) -> dict[str, Any]:
    """Every launch parameter: the built-in defaults and the cluster's script; a change is a value (given with -e) or a
    whole setting."""
    parameters: dict[str, Any] = {
        parameter.name: {"value": parameter.built_in(), "origin": "default", "layer": "default"}
        for parameter in VERBS["launch"]
    }
    parameters["script"] = {"value": "train.py", "origin": "cluster (launch_defaults)", "layer": "cluster"}
    for name, value in changes.items():
        parameters[name] = value if isinstance(value, dict) and "origin" in value else given(value, name)
    return parameters


def request(count: int = 2, **changes: Any) -> dict[str, Any]:
    """The request of a launch on `count` nodes."""
    return {
        "schema": 1,
        "verb": "launch",
        "run_id": RUN_ID,
        "nonce": NONCE,
        "created": "2026-11-20T14:30:52Z",
        "parameters": settings(**changes),
        "nodes": [f"node{number}" for number in range(count)],
        "spares": [],
        "hosts": "nodes",
        "experiment": f"/home/ann/experiments/{RUN_ID}",
        "experiments": "/home/ann/experiments",
        "controller": {"host": "laptop", "user": "ann"},
        "command": "ansible-playbook launch.yml -e channels=42",
        "call": "ansible-playbook",
        "options": [],
        "versions": {"muster": "0.1.0", "ansible_core": "2.19.14", "python": "3.11.2"},
        "cluster": "lab",
    }


def refused(
    asked: dict[str, Any], of: ClusterPolicy, on: list[Node], checks: CheckPolicy = BY_DEFAULT
) -> list[Finding]:
    """The findings for which there is no such plan."""
    with pytest.raises(PlanError) as caught:
        make_plan(asked, of, on, checks=checks)
    return caught.value.findings


def wrong(
    check: str,
    nodes: Mapping[str, NodeFacts],
    env: Mapping[str, Any] = MappingProxyType({}),
    expected: dict[str, Any] | None = None,
    srun_job: str | None = None,
    **of: Any,
) -> list[Finding]:
    """What a check finds wrong on nodes with these facts; env is the environment of some, `of` more of the cluster."""
    on = {
        name: Node(name, record, layers=[(env.get(name, {}), LAUNCH_NODE_ENV)], srun_job=srun_job)
        for name, record in nodes.items()
    }
    findings = [result.finding for result in run(Cluster(on, checks=CheckPolicy(expected=expected or {}), **of))]
    return [finding for finding in findings if finding.check == check and finding.status in ("warn", "fail")]
