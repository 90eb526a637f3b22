# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeded faults: each is found by the right check on the right node, and no other check turns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import NAMES as CHECKS
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.tests.support.preflight_parts import (
    NOW,
    Change,
    Facts,
    Tree,
    alarms,
    as_it_is,
    report,
)

IB, ROCE, AMD, A100, CPU = "dgx_h100_ib", "hgx_h100_roce", "mi300x_bnxt", "dgx_a100", "laptop"
DOCKER = ClusterPolicy(runtime="docker", image="train:1")
NO_HOST_KEY = "Failed to connect to the host via ssh: Host key verification failed."


@dataclasses.dataclass(frozen=True)
class Fault:
    """On the second of two such machines. node None: of both or of the whole cluster."""

    what: str
    machine: str
    check: str
    status: str = "fail"
    change: Change | None = None
    tree: Tree = as_it_is
    node: str | None = "node1"
    options: Callable[[], dict[str, Any]] = dict


def put(part: str, **values: Any) -> Change:
    """Set keys of a part of the node's facts."""
    return lambda facts: facts["node"][part].update(values)


def node(**values: Any) -> Change:
    """Set parts of the node's facts."""
    return lambda facts: facts["node"].update(values)


def root_in_a_foreign_directory(facts: dict[str, Any]) -> None:
    facts["node"]["user"].update(name="root", uid=0)
    facts["node"]["workdir"]["untrusted"] = {"path": "/scratch", "uid": 1001, "mode": 0o755}


def a_user_in_an_open_directory(facts: dict[str, Any]) -> None:
    facts["node"]["user"].update(name="ann", uid=1000)
    facts["node"]["workdir"]["untrusted"] = {"path": "/scratch", "uid": 0, "mode": 0o777}


def session(switch: str) -> Change:
    """Make the user one whose processes belong to a session, and set a switch of logind."""
    systemd = {"booted": True, "linger": False, switch: True}
    return node(user={"name": "ann", "uid": 1000, "home": "/h"}, systemd=systemd, sudo={"passwordless": True})


def gpu(index: int = 3, **values: Any) -> Change:
    """Set values in the facts about the health of a GPU."""
    return lambda facts: facts["node"]["gpu_health"]["devices"][index].update(values)


def hca(index: int = 0, **values: Any) -> Change:
    """Set values in the facts about an adapter."""
    return lambda facts: facts["rdma"]["hcas"][index].update(values)


def disk(index: int = 0, **values: Any) -> Change:
    """Set values in the facts about a file system."""
    return lambda facts: facts["node"]["disks"][index].update(values)


def text(old: str, new: str, many: bool = False) -> Tree:
    """Change the machine's tree."""

    def change(tree: str) -> str:
        assert old in tree, old
        return tree.replace(old, new, -1 if many else 1)

    return change


def log(kind: str, code: int | None) -> Change:
    """An error in the kernel's log."""
    error = {"kind": kind, "code": code, "device": "0000:1b:00.0", "text": "NVRM: …", "monotonic_s": 12.0}
    return put("kernel_log", errors=[error])


def names_with(address: str) -> Change:
    def change(facts: Facts) -> None:
        facts["node"]["names"][facts["node"]["hostname"]]["addresses"] = [address]

    return change


def fewer_gpus(facts: Facts) -> None:
    facts["gpu"]["count"] -= 1
    facts["gpu"]["devices"].pop()
    facts["gpu"]["links"] = [link for link in facts["gpu"]["links"] if link["b"] != facts["gpu"]["count"]]
    facts["node"]["gpu_health"]["devices"].pop()
    facts["gpu"]["nic_links"] = [link for link in facts["gpu"]["nic_links"] if link["gpu"] != facts["gpu"]["count"]]


def listed_less(facts: Facts) -> None:
    facts["gpu"]["devices"].pop()


def other_model(facts: Facts) -> None:
    for device in facts["gpu"]["devices"]:
        device["name"] = "NVIDIA H200"


def off_fabric(facts: Facts) -> None:
    for link in facts["gpu"]["links"]:
        if 3 in (link["a"], link["b"]):
            link.update(relation="SYS", count=None)


def swap_rails(facts: Facts) -> None:
    routes = facts["node"]["net"]["routes"]
    other = {"rail0": "rail1", "rail1": "rail0"}
    for route in routes:
        route["interface"] = other.get(route["interface"], route["interface"])


def drop_uvm(facts: Facts) -> None:
    facts["node"]["devices"] = [device for device in facts["node"]["devices"] if device["path"] != "/dev/nvidia-uvm"]


def closed_device(facts: Facts) -> None:
    facts["node"]["devices"][-1].update(mode="0600", readable=False, writable=False)


def other_mtu(facts: Facts) -> None:
    for interface in facts["node"]["interfaces"].values():
        interface["mtu"] = 1500


def missing_file(facts: Facts) -> None:
    facts["node"]["files"]["train.py"].update(exists=False, readable=False, sha256=None)


def taken_port(facts: Facts) -> None:
    facts["node"]["net"]["listening"].append(29500)


def head(address: str) -> dict[str, Any]:
    """A launch whose ranks meet there."""
    return {"policy": ClusterPolicy(head_address=address)}


MINE = {"pid": 77, "uid": 0, "command": "python", "run_id": "multinode_1ch_1th_20261101_000000"}
RUNNER = {"run_id": "multinode_2ch_2th_20261102_000000", "nonce": None, "node": "node1", "pid": 9, "since": None}
FAULTS = [
    # Who answers, and who it is
    Fault("unreachable host", IB, "answer", "error", options=lambda: {"silent": "timed out"}),
    Fault("host key not known", CPU, "answer", "error", options=lambda: {"silent": NO_HOST_KEY}),
    Fault("the same machine twice", CPU, "node", change=put("workdir", identity="machine0")),
    Fault("one address twice", CPU, "node", options=lambda: {"addresses": ("10.0.0.1", "10.0.0.1")}),
    Fault("work directory not writable", CPU, "work directory", change=put("workdir", writable=False)),
    Fault("work directory without locks", CPU, "work directory", change=put("workdir", flock=False)),
    Fault(
        "root in another user's directory",
        CPU,
        "work directory path",
        change=root_in_a_foreign_directory,
    ),
    Fault(
        "a directory that all can write",
        CPU,
        "work directory path",
        "warn",
        change=a_user_in_an_open_directory,
    ),
    # The code
    Fault("wrong commit", CPU, "code", change=put("code", commit="b" * 40)),
    Fault("wrong branch", CPU, "code", change=put("code", branch="wip", commit="b" * 40)),
    Fault("another branch at the same commit", CPU, "code", change=put("code", branch="wip")),
    Fault("dirty tree", CPU, "code", change=put("code", dirty=True, changes="c" * 64)),
    Fault("not the profile's commit", CPU, "code", node=None, options=lambda: {"expected": {"commit": "d" * 12}}),
    Fault("no checkout", CPU, "code", change=put("code", commit=None, branch=None, dirty=None, source=None)),
    Fault(
        "a checkout that git does not trust",
        CPU,
        "code",
        "error",
        change=put("code", commit=None, branch=None, dirty=None, source=None, why="git does not trust it"),
    ),
    Fault("changes that nobody could look for", CPU, "code", "error", change=put("code", dirty=None, why="too slow")),
    Fault("no code", CPU, "code directory", change=put("code", exists=False, commit=None, branch=None, dirty=None)),
    Fault(
        "another script", CPU, "files", change=lambda facts: facts["node"]["files"]["train.py"].update(sha256="2" * 64)
    ),
    Fault("no script", CPU, "files", change=missing_file),
    # What starts
    Fault("no interpreter", CPU, "python interpreter", change=put("python", path=None)),
    Fault("no torch", CPU, "torch installed", change=put("versions", torch=None)),
    Fault("other torch", IB, "torch", change=put("versions", torch="2.5.1")),
    Fault("other NCCL", IB, "nccl", change=put("versions", nccl="2.21.5")),
    Fault("other Python", CPU, "python", "warn", change=put("versions", python="3.12.1")),
    Fault(
        "no linger for systemd",
        CPU,
        "starter",
        change=lambda facts: facts["node"].update(
            user={"name": "ann", "uid": 1000, "home": "/h"}, systemd={"booted": True, "linger": False}
        ),
        options=lambda: {"policy": ClusterPolicy(starter="systemd")},
    ),
    Fault("logind ends sessions", CPU, "logout", change=session("kill_user_processes")),
    Fault("logind removes IPC", CPU, "shared memory", "warn", change=session("remove_ipc")),
    Fault("slot held", CPU, "slot", change=node(holder=RUNNER)),
    Fault("leftovers of a run", CPU, "leftovers", "warn", change=put("processes", runs=[MINE])),
    Fault(
        "hung process",
        IB,
        "hung",
        change=put("processes", hung=[{"pid": 5, "command": "nvidia-smi", "wait": "os_acquire"}]),
    ),
    Fault(
        "no sudo",
        CPU,
        "sudo",
        "warn",
        change=node(user={"name": "ann", "uid": 1000, "home": "/h"}, sudo={"passwordless": False, "why": None}),
    ),
    # GPUs
    Fault("a GPU fewer", IB, "gpu count", change=fewer_gpus),
    Fault("not the profile's count", IB, "gpu count", node=None, options=lambda: {"expected": {"gpus": 16}}),
    Fault("a GPU fell off the bus", IB, "gpus", change=listed_less),
    Fault("a GPU off the fabric", IB, "gpus", "warn", change=off_fabric),
    Fault("another model", IB, "gpu model", change=other_model),
    Fault("another driver", IB, "driver", change=lambda facts: facts["gpu"].update(driver_version="535.1")),
    Fault("uncorrected ECC", IB, "ecc", change=gpu(ecc_uncorrected=2)),
    Fault("ECC off", A100, "ecc", change=gpu(ecc_mode="disabled", ecc_pending="disabled")),
    Fault("row remap pending", IB, "gpu memory", change=gpu(remap_pending=True)),
    Fault("row remap failed", IB, "gpu memory", change=gpu(index=0, remap_failure=True)),
    Fault("bad pages", AMD, "gpu memory", change=gpu(bad_pages=12)),
    Fault("NVLink down", IB, "nvlink", change=gpu(nvlinks_down=[4])),
    Fault(
        "fabric manager stopped",
        IB,
        "fabric manager",
        change=lambda facts: facts["node"]["gpu_health"]["fabric_manager"].update(active=False, state="failed"),
    ),
    Fault("GPU asks for a reset", IB, "gpu state", change=gpu(trouble="GPU requires reset")),
    Fault("thermal slowdown", IB, "throttling", "warn", change=gpu(throttle=["HW thermal slowdown"])),
    Fault("persistence off", IB, "persistence", "warn", change=gpu(persistence=False)),
    Fault("GPU at x8", IB, "pcie", change=gpu(link_width=8)),
    Fault("adapter at x8", ROCE, "pcie", change=hca(link_width=8, link_width_max=16, link_gen=5, link_gen_max=5)),
    Fault(
        "adapter at generation 3",
        ROCE,
        "pcie",
        change=hca(link_width=16, link_width_max=16, link_gen=3, link_gen_max=5),
    ),
    Fault(
        "foreign process",
        IB,
        "gpu processes",
        change=put("processes", gpu=[{"pid": 3, "uid": 7, "command": "python", "run_id": None, "device": None}]),
    ),
    Fault("Xid 79", IB, "kernel log", change=log("xid", 79)),
    Fault("Xid 31", IB, "kernel log", "warn", change=log("xid", 31)),
    Fault("RAS error", AMD, "kernel log", change=log("ras", None)),
    Fault(
        "kernel log closed",
        IB,
        "kernel log",
        "error",
        change=node(kernel_log={"readable": False, "why": "dmesg_restrict"}),
    ),
    Fault("no nvidia-uvm", IB, "device files", change=drop_uvm),
    Fault("render node closed", AMD, "device files", change=closed_device),
    # RDMA
    Fault(
        "a port down",
        IB,
        "rdma ports",
        tree=text('mlx5_3/ports/1/state: "4: ACTIVE', 'mlx5_3/ports/1/state: "1: DOWN'),
        status="fail",
    ),
    Fault(
        "a port slower",
        IB,
        "rdma ports",
        tree=text('mlx5_3/ports/1/rate: "400 Gb/sec (4X NDR)', 'mlx5_3/ports/1/rate: "200 Gb/sec (2X NDR)'),
    ),
    Fault(
        "not the profile's rate", ROCE, "rdma ports", node=None, options=lambda: {"expected": {"rdma_rate_gbps": 800}}
    ),
    Fault("other firmware", IB, "firmware", tree=text('mlx5_3/fw_ver: "28.39.1002', 'mlx5_3/fw_ver: "28.36.1010')),
    Fault(
        "a link that goes down",
        IB,
        "counters",
        "warn",
        tree=text('mlx5_3/ports/1/counters/link_downed: "0', 'mlx5_3/ports/1/counters/link_downed: "40'),
    ),
    Fault("rails swapped", ROCE, "rails", change=swap_rails),
    Fault("no peermem", IB, "gdr", "warn", change=lambda facts: facts["rdma"]["gdr"].update(nvidia_peermem=False)),
    Fault(
        "IOMMU translates",
        IB,
        "iommu",
        "warn",
        node=None,
        options=lambda: {"both": node(kernel={"release": "6.8.0", "command_line": ["intel_iommu=on"]})},
    ),
    Fault(
        "locked memory",
        IB,
        "memlock",
        change=node(
            user={"name": "ann", "uid": 1000, "home": "/h"},
            memlock={"soft": 8 << 20, "hard": 8 << 20, "cap_ipc_lock": False, "effective": 8 << 20},
        ),
    ),
    # The machine
    Fault("full disk", CPU, "disks", change=disk(free_bytes=1 << 30)),
    Fault("disk nearly full", CPU, "disks", "warn", change=disk(free_bytes=100 << 30)),
    Fault(
        "disk with no room but few percent used", CPU, "disks", change=disk(size_bytes=300 << 10, free_bytes=256 << 10)
    ),
    Fault("no inodes", CPU, "disks", change=disk(index=1, free_inodes=3)),
    Fault("read-only disk", CPU, "disks", change=disk(read_only=True, writable=False)),
    Fault("write fails", CPU, "disks", change=disk(index=1, writable=False, write_error="No space left on device")),
    Fault("small /dev/shm", IB, "shm", "warn", change=put("container", shm_bytes=64 << 20)),
    Fault("swap", IB, "swap", "warn", change=put("memory", swap_bytes=8 << 30)),
    Fault("a memory module lost", CPU, "memory", change=put("memory", total_bytes=1 << 40)),
    Fault("huge pages", CPU, "memory", change=put("memory", hugepages=1024)),
    Fault("clock behind", CPU, "clock", change=put("clock", wall=NOW - 60)),
    Fault("clock ahead", CPU, "clock", change=put("clock", wall=NOW + 60)),
    Fault("clock a little off", CPU, "clock", "warn", change=put("clock", wall=NOW - 3)),
    Fault("host name on 127.0.1.1", CPU, "names", change=names_with("127.0.1.1")),
    Fault(
        "the head's name elsewhere",
        CPU,
        "names",
        change=lambda facts: facts["node"]["names"]["head"].update(addresses=["10.9.9.9"]),
    ),
    Fault("other kernel", CPU, "kernel", "warn", change=put("kernel", release="6.1.0")),
    Fault(
        "other command line",
        CPU,
        "kernel command line",
        change=put("kernel", command_line=["iommu=pt", "pci=realloc=off"]),
    ),
    Fault("fewer CPUs", CPU, "cpus", "warn", change=node(cpus=1)),
    Fault(
        "governor",
        CPU,
        "governor",
        "warn",
        change=put("memory", governor="powersave"),
        options=lambda: {"expected": {"governor": "performance"}},
    ),
    Fault(
        "open files",
        CPU,
        "open files",
        "warn",
        change=lambda facts: facts["node"]["limits"]["nofile"].update(hard=4096),
    ),
    # The network
    Fault("public rendezvous address", CPU, "rendezvous", "warn", node="node0", options=lambda: head("9.9.9.9")),
    Fault(
        "public rendezvous address, IPv6", CPU, "rendezvous", "warn", node="node0", options=lambda: head("2620:fe::9")
    ),
    Fault("wildcard rendezvous address", CPU, "rendezvous", node="node0", options=lambda: head("0.0.0.0")),
    Fault("wildcard rendezvous address, IPv6", CPU, "rendezvous", node="node0", options=lambda: head("::")),
    Fault("all ports taken", CPU, "port", node="node0", options=lambda: {"policy": ClusterPolicy(port_range=(22, 22))}),
    Fault("firewall", CPU, "reach", change=lambda facts: facts["node"]["reach"][0].update(result="timeout")),
    Fault("other MTU", ROCE, "mtu", change=other_mtu),
    Fault(
        "no such interface",
        CPU,
        "environment",
        "warn",
        node=None,
        options=lambda: {"env": {"NCCL_SOCKET_IFNAME": "=eth77", "GLOO_SOCKET_IFNAME": "eth77"}},
    ),
    Fault(
        "interface down",
        CPU,
        "socket interface",
        change=lambda facts: facts["node"]["interfaces"]["wlp2s0"].update(state="down"),
        options=lambda: {"env": {"NCCL_SOCKET_IFNAME": "=wlp2s0"}},
    ),
    # Containers
    Fault(
        "engine stopped",
        CPU,
        "engine",
        change=put("engine", running=False, why="permission denied"),
        options=lambda: {"policy": DOCKER},
    ),
    Fault(
        "engine by sudo with a password",
        CPU,
        "engine",
        change=put("engine", running=None, version=None, why="sudo: a password is required", images={}),
        options=lambda: {"policy": DOCKER},
    ),
    Fault("no compose", CPU, "engine", change=put("engine", compose=None), options=lambda: {"policy": DOCKER}),
    Fault(
        "another image",
        CPU,
        "image",
        change=put("engine", images={"train:1": {"id": "sha256:cc", "digests": ["train@sha256:dd"]}}),
        options=lambda: {"policy": DOCKER},
    ),
    Fault(
        "an image that nobody could look for",
        CPU,
        "image",
        "error",
        change=put("engine", images={}, why="image train:1: no answer"),
        options=lambda: {"policy": DOCKER},
    ),
    Fault("no image", CPU, "image", change=put("engine", images={"train:1": None}), options=lambda: {"policy": DOCKER}),
    Fault(
        "privileged",
        CPU,
        "privileged",
        "warn",
        node=None,
        options=lambda: {"policy": dataclasses.replace(DOCKER, privileged=True)},
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_fault(fault: Fault) -> None:
    changes = [fault.change] if fault.change else []
    result = report(fault.machine, *changes, tree=fault.tree, **fault.options())
    # No route of these machines leads to an address or a name that is set for the head.
    raised = [alarm for alarm in alarms(result) if (fault.check, alarm[0]) != ("rendezvous", "interface")]
    assert {check for check, _node, _status in raised} == {fault.check}, raised
    worst = min((status for _check, _node, status in raised), key=("fail", "error", "warn").index)
    assert worst == fault.status
    if fault.node:
        assert {name for _check, name, _status in raised} == {fault.node}
    bad = [
        alarm for alarm in result.findings if alarm.check == fault.check and alarm.status in ("warn", "fail", "error")
    ]
    assert all(finding.observed and finding.source and str(finding.remedy) for finding in bad)
    # A user who may not read the kernel's log sees only that.
    blind = fault.check == "kernel log" and fault.status == "error"
    assert result.code == (0 if blind else {"fail": 1, "error": 2, "warn": 0}[fault.status])


def test_there_are_enough_of_them_and_every_check_has_one() -> None:
    assert len(FAULTS) >= 40
    # What these find has tests of its own: the rules of the environment, and properties like those above.
    without = {"compose file", "gids", "interface", "gpu runtime", "rdma mtu", "rccl", "engine version", "processes"}
    assert {fault.check for fault in FAULTS} | without == set(CHECKS)


def test_logind_ends_nothing_that_is_outside_of_its_sessions() -> None:
    def outside(facts: Facts) -> None:
        session("kill_user_processes")(facts)
        facts["node"]["systemd"]["in_session"] = False

    assert not [alarm for alarm in alarms(report(CPU, outside)) if alarm[0] == "logout"]


def test_a_name_of_the_head_that_is_public() -> None:
    def public(facts: Facts) -> None:
        facts["node"]["names"]["head"]["addresses"] = ["9.9.9.9"]

    result = report(CPU, both=public, **head("head"))
    assert ("rendezvous", "node0", "warn") in alarms(result)
    [finding] = [finding for finding in result.findings if finding.check == "rendezvous" and finding.node == "node0"]
    assert finding.observed == "9.9.9.9 is a public address (launch_head_address)"
    assert "TCPStore" in finding.source
    assert "launch_head_address" in str(finding.remedy)
