# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters of two alike machines of tests/machines, healthy in all that their trees do not cover."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Cluster, Launch
from ansible_collections.muster.train.plugins.plugin_utils._checks.policy import CheckPolicy, Level
from ansible_collections.muster.train.plugins.plugin_utils._checks.report import Report, report_on
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node, Silent
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import DEFAULT, LAUNCH_NODE_ENV
from ansible_collections.muster.train.plugins.plugin_utils._nccl.environments import Users
from ansible_collections.muster.train.plugins.plugin_utils._nccl.view import FabricPolicy
from ansible_collections.muster.train.tools._machine.machine import MACHINES
from ansible_collections.muster.train.tools._machine.manifest import read
from ansible_collections.muster.train.tools._machine.show import ASKED
from ansible_collections.muster.train.tools._machine.show import cluster_of as read_machines

NOW = 1795300000.0
NAMES = sorted(path.stem for path in MACHINES.glob("*.yml"))
# How the second node differs, of machines of which nothing is expected.
PEERS = {
    "hgx_h100": {f"10.{network}.11": f"10.{network}.12" for network in ("10.0", "20.0", "20.1")}
    | {"10.30.7.2": "10.30.7.1"},
    "mi300x": {"10.40.0.5": "10.40.0.6"},
}
Facts = dict[str, Any]
Tree = Callable[[str], str]
Change = Callable[[Facts], object]


def as_it_is(text: str) -> str:
    return text


@functools.cache
def _texts(name: str) -> tuple[str, str]:
    """The machine, and the one like it beside it."""
    text = (MACHINES / f"{name}.yml").read_text(encoding="utf-8")
    expected = MACHINES / "expected" / f"{name}.yml"
    peer = yaml.safe_load(expected.read_text(encoding="utf-8"))["peer"] if expected.exists() else PEERS.get(name, {})
    other = text
    for old, new in peer.items():
        other = other.replace(old, new)
    return text, other


@functools.cache
def _read(name: str, text: str) -> Facts:
    return read_machines({name: read(text)})[name].to_facts(ASKED)


def healthy(facts: Facts, number: int) -> Facts:
    """The facts, healthy in all that a tree does not cover."""
    node, gpu = facts["node"], facts["gpu"]
    node["hostname"] += f"-{number}"
    mine = {"addresses": [f"10.99.0.{number + 1}"], "source": "/etc/hosts", "error": None}
    defaults: Facts = {
        "clock": {"wall": NOW + 0.4, "asked": NOW, "synchronized": True},
        "names": {node["hostname"]: mine, "head": {"addresses": ["10.99.0.1"], "source": "resolver", "error": None}},
        "devices": [
            {"path": path, "mode": "0666", "uid": 0, "gid": 0, "readable": True, "writable": True}
            for path in _device_files(facts)
        ],
        "engine": {
            "command": ["docker"],
            "version": "29.1.0",
            "running": True,
            "compose": "2.40.0",
            "images": {"train:1": {"id": "sha256:aa", "digests": ["train@sha256:bb"]}},
        },
        "reach": [{"address": "10.99.0.1", "port": 29400, "result": "refused", "error": None}],
        "kernel_log": {"readable": True, "errors": [], "source": "journalctl -k -b"},
        "processes": {"runs": [], "hung": []},
        "gpu_processes": [],
        "memory": {"total_bytes": 2 << 40, "available_bytes": 1 << 40, "swap_bytes": 0, "hugepages": 0},
        "sudo": {"passwordless": True, "why": None},
        "interfaces": {
            name: {"state": "up", "mtu": 9000, "speed_mbps": 200000}
            for name in sorted({route["interface"] for route in node["net"]["routes"]})
        },
        "gpu_health": _gpu_health(gpu),
        "disks": [
            {
                "path": path,
                "mount_point": "/",
                "size_bytes": 1 << 40,
                "free_bytes": 9 << 36,
                "free_inodes": 10**8,
                "filesystem": "ext4",
                "read_only": False,
                "writable": True,
                "is_workdir": path == node["workdir"]["path"],
            }
            for path in (node["workdir"]["path"], "/tmp")
        ],
        "limits": {"nofile": {"soft": 1024, "hard": 1048576}, "nproc": {"soft": -1, "hard": -1}},
        "memlock": {"soft": -1, "hard": -1, "cap_ipc_lock": True, "effective": -1},
        "code": {
            "path": "/home/ann/muster/code",
            "exists": True,
            "commit": "a" * 40,
            "branch": "main",
            "dirty": False,
            "changes": None,
            "source": "git",
        },
        "files": {
            "train.py": {"path": "/home/ann/muster/code/train.py", "exists": True, "readable": True, "sha256": "1" * 64}
        },
        "python": {"command": "python3", "path": "/usr/bin/python3"},
        "versions": {
            "python": "3.11.2",
            "torch": "2.6.0",
            "nccl": "2.23.4",
            "rccl": None,
            "site_packages": ["/usr/lib/python3/dist-packages"],
            "sources": {},
        },
        "kernel": {"release": "6.8.0", "command_line": ["iommu=pt"]},
    }
    node.update(defaults)
    known = {"identity": f"machine{number}", "writable": True, "filesystem": "ext4", "flock": True}
    node["workdir"] = {**node["workdir"], **known}
    node["container"] = {**(node["container"] or {"kind": None}), "shm_bytes": 64 << 30}
    node["holder"] = None
    node["boot_id"] = f"boot{number}"
    if gpu["count"]:
        gpu["driver_version"] = gpu["driver_version"] or "550.54.15"
    return facts


def _device_files(facts: Facts) -> list[str]:
    gpu = facts["gpu"]
    paths = [hca["uverbs"] for hca in facts["rdma"]["hcas"] if hca["uverbs"]]
    if gpu["vendor"] == "nvidia":
        paths += ["/dev/nvidiactl", "/dev/nvidia-uvm", *(f"/dev/nvidia{n}" for n in range(gpu["count"]))]
    if gpu["vendor"] == "amd":
        paths += ["/dev/kfd", *(f"/dev/dri/renderD{128 + n}" for n in range(gpu["count"]))]
    return paths


def _gpu_health(gpu: Facts) -> Facts:
    nvidia = gpu["vendor"] == "nvidia"
    devices = [
        {
            "index": device["index"],
            "pci_address": device["pci_address"],
            "ecc_mode": "enabled",
            "ecc_pending": "enabled",
            "ecc_uncorrected": 0,
            "remap_pending": False,
            "remap_failure": False,
            "link_width": 16,
            "link_width_max": 16,
            "link_gen": 1,
            "link_gen_max": 5,
            "throttle": [],
            "persistence": True if nvidia else None,
            "nvlinks_down": [] if nvidia else None,
            "bad_pages": None if nvidia else 0,
        }
        for device in gpu["devices"]
    ]
    manager = {"needed": nvidia, "active": True, "state": "active"} if nvidia else {"needed": False}
    return {"devices": devices, "fabric_manager": manager}


def facts_of(name: str, number: int, tree: Tree = as_it_is) -> Facts:
    """What node `number` of a cluster of these machines answers; tree changes its text."""
    text = _texts(name)[min(number, 1)]
    changed = tree(text)
    assert tree is as_it_is or changed != text
    return healthy(copy.deepcopy(_read(f"{name}{number}", changed)), number)


def report(
    name: str,
    *changes: Change,
    tree: Tree = as_it_is,
    both: Change | None = None,
    env: dict[str, Any] | None = None,
    policy: ClusterPolicy | None = None,
    levels: dict[str, Level] | None = None,
    silent: str = "",
    addresses: tuple[str, str] = ("10.99.0.1", "10.99.0.2"),
    received: float = NOW + 1.0,
    mode: str = "auto",
    expected: dict[str, Any] | None = None,
    thresholds: Mapping[str, float] | None = None,
    profiler: str | None = None,
    launcher: str = "torchrun",
    srun_job: str | None = None,
) -> Report:
    """The report on two such machines, node0 and node1: tree and changes alter node1, silent mutes it.

    srun_job is the Slurm job by whose steps node1 is reached.
    """
    one, two = facts_of(name, 0), facts_of(name, 1, tree)
    for change in changes:
        change(two)
    if both is not None:
        both(one)
        both(two)
    answers = [
        Node.from_facts("node0", one, addresses[0], [(env or {}, LAUNCH_NODE_ENV)]),
        Silent("node1", silent, addresses[1], message=silent)
        if silent
        else Node.from_facts("node1", two, addresses[1], [(env or {}, LAUNCH_NODE_ENV)], srun_job),
    ]
    launch = Launch(files={"script": ("train.py", "cluster")}, profiler=profiler, launcher=launcher)
    library = ("rccl", "2.21.5") if one["gpu"]["vendor"] == "amd" else ("", "2.27.7")
    rules = dataclasses.replace(policy or ClusterPolicy(), library=library[0], version=library[1])
    users = Users(FabricPolicy(mode, DEFAULT))
    checks = CheckPolicy(levels or {}, expected or {}, thresholds or {})
    cluster = Cluster({}, checks=checks, policy=rules, launch=launch, received=received)
    return report_on(cluster.with_answers(answers, users))


def alarms(result: Report) -> list[tuple[str, str | None, str]]:
    """What is not well: check, node, status."""
    bad = ("warn", "fail", "error")
    return sorted({(item.check, item.node, item.status) for item in result.findings if item.status in bad}, key=str)
