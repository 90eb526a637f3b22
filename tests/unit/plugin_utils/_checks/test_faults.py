# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeded faults: each is found by the right check on the right node, and no other check turns."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import BY_NAME
from ansible_collections.muster.train.plugins.plugin_utils._checks.registry import NAMES as CHECKS
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.tests.support.device_faults import DEVICES
from ansible_collections.muster.train.tests.support.faults import (
    CPU,
    DOCKER,
    IB,
    ROCE,
    Fault,
    disk,
    head,
    names_with,
    node,
    other_mtu,
    put,
    session,
)
from ansible_collections.muster.train.tests.support.image_faults import IMAGE_FAULTS
from ansible_collections.muster.train.tests.support.launch_faults import STARTS
from ansible_collections.muster.train.tests.support.preflight_parts import NOW, Change, Facts, alarms, report


def at_name(of_head: str, of_others: str) -> dict[str, Any]:
    """A launch whose ranks meet at a name, and the address to which the head and the others resolve it."""

    def resolve(facts: Facts) -> None:
        is_head = facts["node"]["hostname"].endswith("-0")
        facts["node"]["names"]["head"].update(addresses=[of_head if is_head else of_others])

    return {"both": resolve, **head("head")}


def head_name(**values: object) -> Change:
    def change(facts: Facts) -> None:
        facts["node"]["names"]["head"].update(values)

    return change


def limit_of_head(facts: Facts) -> None:
    if facts["node"]["hostname"].endswith("-0"):
        facts["node"]["memory"]["limit_bytes"] = 64 << 30


FAULTS = [
    *STARTS,
    *DEVICES,
    *IMAGE_FAULTS,
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
    Fault("small /dev/shm of a pod", IB, "shm", "warn", change=put("container", kind="kubernetes", shm_bytes=64 << 20)),
    Fault("swap", IB, "swap", "warn", change=put("memory", swap_bytes=8 << 30)),
    Fault("a memory module lost", CPU, "memory", change=put("memory", total_bytes=1 << 40)),
    Fault("a limit of memory", CPU, "memory", change=put("memory", limit_bytes=64 << 30)),
    Fault("a limit of memory of the others", CPU, "memory", options=lambda: {"both": limit_of_head}),
    Fault("huge pages", CPU, "memory", change=put("memory", hugepages=1024)),
    Fault("clock behind", CPU, "clock", change=put("clock", wall=NOW - 60)),
    Fault("clock ahead", CPU, "clock", change=put("clock", wall=NOW + 60)),
    Fault("clock a little off", CPU, "clock", "warn", change=put("clock", wall=NOW - 3)),
    Fault("host name on 127.0.1.1", CPU, "names", change=names_with("127.0.1.1")),
    Fault("the head's name elsewhere", CPU, "names", change=head_name(addresses=["10.9.9.9"])),
    Fault("a name server is gone, for names", CPU, "lookups", "warn", change=head_name(ms=5000)),
    Fault("a name server is gone, for addresses", CPU, "lookups", "warn", change=head_name(reverse_ms=4000)),
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
    *(
        Fault(
            f"public address of the head's name, {of_head} there",
            CPU,
            "rendezvous",
            "warn",
            node="node0",
            options=functools.partial(at_name, of_head, "9.9.9.9"),
        )
        for of_head in ("9.9.9.9", "127.0.1.1")
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
        "an image that could not be looked for",
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
    # A user who may not read the kernel's log sees only that, and so does one whose script could not be read.
    blind = BY_NAME[fault.check].blind == "warn" and fault.status == "error"
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
