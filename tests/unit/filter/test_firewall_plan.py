# SPDX-License-Identifier: GPL-3.0-or-later
"""Who belongs to the cluster, and which ports are its own."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.filter.firewall_plan import firewall_plan
from ansible_collections.muster.train.plugins.plugin_utils._cluster.ports import DEFAULT_RANGE

RANGE = "29400-29999"
HOSTS = {"n1": "10.0.0.1", "n2": "n2"}
DOCKER = "172.17.0.1"


def facts(*ipv4: str, ipv6: tuple[str, ...] = (), ssh: str = "192.0.2.9 40000 10.0.0.1 22") -> dict[str, Any]:
    return {"all_ipv4_addresses": list(ipv4), "all_ipv6_addresses": list(ipv6), "env": {"SSH_CONNECTION": ssh}}


NODES = {"n1": facts("10.0.0.1", DOCKER), "n2": facts("10.0.0.2", DOCKER)}


def planned(nodes: Any = None, hosts: Any = None, port_range: str = RANGE, **more: Any) -> dict[str, Any]:
    result = firewall_plan(nodes or NODES, hosts or HOSTS, port_range, **more)
    assert result.pop("refused") is None, result
    return result


def refused(nodes: Any = None, hosts: Any = None, port_range: str = RANGE, **more: Any) -> str:
    result = firewall_plan(nodes or NODES, hosts or HOSTS, port_range, **more)
    assert list(result) == ["refused"]
    assert " expected " in result["refused"]
    return str(result["refused"])


def test_the_nodes_own_addresses_are_the_cluster() -> None:
    assert planned() == {"ports": [RANGE], "ipv4": ["10.0.0.1", "10.0.0.2"], "ipv6": []}


@pytest.mark.parametrize("unset", [None, ""])
def test_without_a_range_the_ports_are_those_of_a_launch(unset: Any) -> None:
    assert planned(port_range=unset)["ports"] == ["{}-{}".format(*DEFAULT_RANGE)]


def test_what_several_nodes_have_is_nobodys() -> None:
    # One name of the inventory for both, as with a forwarded port for each.
    behind = {"n1": "192.0.2.1", "n2": "192.0.2.1"}
    assert planned(hosts=behind)["ipv4"] == ["10.0.0.1", "10.0.0.2"]
    assert planned(hosts={"n1": "192.0.2.1", "n2": ""})["ipv4"] == ["10.0.0.1", "10.0.0.2", "192.0.2.1"]


def test_what_no_other_node_can_come_from_is_left_out() -> None:
    unreachable = ("::1", "fe80::1", "fd00::1", "ff02::1")
    nodes = {"n1": facts("127.0.0.1", "169.254.7.7", "10.0.0.1", "0.0.0.0", ipv6=unreachable), "n2": facts("10.0.0.2")}
    assert planned(nodes) == {"ports": [RANGE], "ipv4": ["10.0.0.1", "10.0.0.2"], "ipv6": ["fd00::1"]}


def test_neighbors_and_networks_are_joined() -> None:
    nodes = {"n1": facts("10.0.0.2", "10.1.0.9"), "n2": facts("10.0.0.3")}
    result = planned(nodes, {"n1": "n1", "n2": "n2"}, addresses=["10.1.0.0/16", "2001:db8::/64", "2001:db8::7"])
    assert (result["ipv4"], result["ipv6"]) == (["10.0.0.2/31", "10.1.0.0/16"], ["2001:db8::/64"])


@pytest.mark.parametrize(
    ("more", "ports"),
    [
        ({"defaults": {"master_port": 29500, "max_restarts": 3}}, [RANGE]),
        ({"defaults": {"master_port": "6000", "max_restarts": 3}}, ["5999-6003", RANGE]),
        ({"defaults": {"master_port": 29400}}, ["29399-29999"]),
        ({"ports": [31234, "32768-60999"]}, [RANGE, "31234", "32768-60999"]),
        ({"ports": ["29000-30100", 30101, 29500]}, ["29000-30101"]),
    ],
)
def test_ports(more: dict[str, Any], ports: list[str]) -> None:
    assert planned(**more)["ports"] == ports


@pytest.mark.parametrize("text", ["0", "70000", "2-1", "80;drop", "1-2-3", "", "٣"])
def test_what_is_no_port_is_refused(text: str) -> None:
    assert refused(ports=[text]).startswith(f"firewall_ports: {text!r}: expected ")


@pytest.mark.parametrize("text", ["10.0.0.0/33", "n1", "10.0.0.1/8", "} drop", ""])
def test_what_is_no_address_is_refused(text: str) -> None:
    assert refused(addresses=[text]).startswith("firewall_addresses: ")


def test_a_range_that_is_none_is_refused() -> None:
    assert refused(port_range="29400").startswith("launch_port_range is '29400', expected FIRST-LAST")
    assert "master_port is '{x'" in refused(defaults={"master_port": "{x"})


def test_the_port_of_the_session_is_never_closed() -> None:
    nodes = {**NODES, "n2": facts("10.0.0.2", ssh="192.0.2.9 40000 10.0.0.2 29500")}
    assert refused(nodes).startswith("n2: its sshd listens on port 29500, expected none of 29400-29999: ")
    assert "port 22, expected none of 20-30" in refused(ports=["20-30"])
    # Not connected by ssh: connection local, kubectl.
    assert planned({name: {**node, "env": {}} for name, node in NODES.items()}, ports=["20-30"])["ports"][0] == "20-30"


def test_a_node_of_which_nothing_is_known_is_not_locked_out() -> None:
    assert refused({**NODES, "n2": {}}).startswith("n2: its addresses could not be read, expected ")


def test_a_node_without_an_address_of_its_own_is_not_locked_out() -> None:
    nodes = {"n1": facts(DOCKER), "n2": facts(DOCKER)}
    hosts = {"n1": "n1", "n2": "n2"}
    assert refused(nodes, hosts).startswith("n1: it shares all its addresses")
    assert planned(nodes, hosts, addresses=["10.0.0.0/24"])["ipv4"] == ["10.0.0.0/24"]
