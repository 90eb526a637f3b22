# SPDX-License-Identifier: GPL-3.0-or-later
"""A fault of a machine for the tests of the checks, and what changes the facts so that they show it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.tests.support.preflight_parts import Change, Facts, Tree, as_it_is

IB, ROCE, AMD, A100, CPU = "dgx_h100_ib", "hgx_h100_roce", "mi300x_bnxt", "dgx_a100", "laptop"
DOCKER = ClusterPolicy(runtime="docker", container_image="train:1")
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


def log(kind: str, code: int | None, reset_s: float | None = None) -> Change:
    """An error in the kernel's log."""
    error = {"kind": kind, "code": code, "device": "0000:1b:00.0", "text": "NVRM: …", "monotonic_s": 12.0}
    return put("kernel_log", errors=[{**error, "reset_s": reset_s}])


def gpu_fault(kind: str, device: str | None = None) -> Change:
    """GPUs that do not work, or one of them."""
    fault = {"kind": kind, "words": "the tool's words", "source": "nvidia-smi", "device": device}
    return lambda facts: facts["gpu"].update(faults=[fault])


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
    """Give the networks of two ports to each other: their addresses, their routes and their GIDs."""
    other, net = {"rail0": "rail1", "rail1": "rail0"}, facts["node"]["net"]
    one, two = (hca["ports"][0] for hca in facts["rdma"]["hcas"][:2])
    one["gids"], two["gids"] = two["gids"], one["gids"]
    for part in (*net["routes"], *net["addresses"]):
        part["interface"] = other.get(part["interface"], part["interface"])
    for gid in (*one["gids"], *two["gids"]):
        gid["ndev"] = other[gid["ndev"]]


def add_links(facts: Facts) -> None:
    """Let the link of each port lead to a second network, too, and to one host by a route of its own."""
    net = facts["node"]["net"]
    for address in net["addresses"]:
        if address["interface"].startswith("rail"):
            for destination in ("172.20.0.0/16", f"{address['address']}/32"):
                net["routes"].append(
                    {**net["routes"][0], "interface": address["interface"], "destination": destination, "gateway": None}
                )


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
