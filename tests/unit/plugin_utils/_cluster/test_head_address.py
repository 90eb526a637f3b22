# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the head's address and of each node's interface towards it."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import Address, Net, Route, Rule
from ansible_collections.muster.train.plugins.plugin_utils._cluster.head_address import (
    choose_address,
    interface_towards,
    rules_towards,
)
from ansible_collections.muster.train.tests.support.cases import outcomes

LOOPBACK = Address("127.0.0.1", "lo")
ADDRESSES = [LOOPBACK, Address("10.0.0.5", "eth0"), Address("10.0.0.6", "eth0"), Address("192.168.7.5", "ib0")]
DEFAULT = Route("0.0.0.0/0", "eth0", "10.0.0.1", 100)
ROUTES = [
    DEFAULT,
    Route("10.0.0.0/16", "eth0", None, 100),
    Route("192.168.0.0/16", "eth0", "10.0.0.1", 5),
    Route("192.168.7.0/24", "ib1", None, 200),
    Route("192.168.7.0/24", "ib0", None, 100),
]


def net(addresses: list[Address] | None = None, routes: list[Route] | None = None) -> Net:
    addresses, routes = ADDRESSES if addresses is None else addresses, ROUTES if routes is None else routes
    return Net(addresses=addresses, routes=routes, listening=[], holders={})


CHOSEN = [
    ("10.9.9.9", "10.0.0.5", ROUTES, False, "10.9.9.9"),
    ("head.example", "10.0.0.5", ROUTES, False, "head.example"),
    ("127.0.0.1", "node0", ROUTES, True, "127.0.0.1"),
    ("", "192.168.7.5", ROUTES, False, "192.168.7.5"),
    ("", "127.0.0.1", ROUTES, True, "127.0.0.1"),
    # Reached through a tunnel or a port of this machine: others do not reach the head there.
    ("", "127.0.0.1", ROUTES, False, "10.0.0.5"),
    ("", "203.0.113.9", ROUTES, False, "10.0.0.5"),
    ("", "node0", ROUTES, True, "10.0.0.5"),
    ("", "node0", [], True, "127.0.0.1"),
]


@pytest.mark.parametrize(("policy", "inventory", "routes", "together", "address"), CHOSEN)
def test_chosen(policy: str, inventory: str, routes: list[Route], together: bool, address: str) -> None:
    chosen, findings = choose_address("node0", policy, inventory, net(routes=routes), together)
    assert (chosen.value, findings) == (address, [])


def test_of_several_default_routes_the_lowest_metric_counts() -> None:
    routes = [DEFAULT, Route("0.0.0.0/0", "ib0", "192.168.7.1", 50)]
    assert choose_address("node0", "", "node0", net(routes=routes), False)[0].value == "192.168.7.5"


REFUSED = {
    "no default route": ("", net(routes=[])),
    "a default route over an interface without an address": ("", net(addresses=[LOOPBACK], routes=[DEFAULT])),
    **{f"{name} on several machines": (name, net()) for name in ("127.0.0.1", "127.1.2.3", "localhost", "::1")},
}


@pytest.mark.parametrize(("address", "of_head"), REFUSED.values(), ids=REFUSED)
def test_an_address_that_others_do_not_reach_is_refused(address: str, of_head: Net) -> None:
    chosen, findings = choose_address("node0", address, "node0", of_head, False)
    assert (chosen.value, outcomes(findings)) == (address, [("interface", "node0", "fail")])


OF_IPV4 = net()
TOWARDS = ("192.168.7.5", "127.0.0.1", "192.168.7.9", "192.168.8.9", "10.0.3.4", "8.8.8.8")


def test_interfaces() -> None:
    chosen = [interface_towards(address, OF_IPV4) for address in TOWARDS]
    assert [item and item.name for item in chosen] == ["ib0", "lo", "ib0", "eth0", "eth0", "eth0"]


def test_an_interface_that_cannot_be_known() -> None:
    assert [interface_towards(address, OF_IPV4) for address in ("head.example", "", "fd00::1")] == [None] * 3
    assert interface_towards("10.0.3.4", net(routes=[])) is None
    # An own address whose interface is in doubt is not guessed.
    assert interface_towards("10.0.0.5", net(addresses=[Address("10.0.0.5", None)])) is None


IPV6 = [Address("::1", "lo"), Address("fd00::14", "eth0"), Address("fd00:1::14", "ib0")]
ROUTES_OF_IPV6 = [Route("::/0", "eth0", "fd00::1", 1024), Route("fd00:1::/64", "ib0", None, 256)]


def test_without_ipv4_the_default_route_of_ipv6_counts() -> None:
    # The management network of IPv4 on the same interface has no way out.
    addresses = [LOOPBACK, Address("10.0.0.5", "eth0"), *IPV6]
    routes = [Route("10.0.0.0/24", "eth0", None, 0), *ROUTES_OF_IPV6]
    assert choose_address("node0", "", "node0", net(addresses, routes), False)[0].value == "fd00::14"
    both = net([*ADDRESSES, *IPV6], [*ROUTES_OF_IPV6, *ROUTES])
    assert choose_address("node0", "", "node0", both, False)[0].value == "10.0.0.5"


@pytest.mark.parametrize(
    ("address", "interface"), [("fd00::14", "eth0"), ("fd00:1::9", "ib0"), ("2001:db8::1", "eth0"), ("10.0.0.9", None)]
)
def test_interface_of_ipv6(address: str, interface: str | None) -> None:
    chosen = interface_towards(address, net(IPV6, ROUTES_OF_IPV6))
    assert (chosen and chosen.name) == interface


def test_rules_of_policy_routing() -> None:
    rules = [Rule(100, "10.20.0.0/16", "rail0"), Rule(5270, None, "52")]
    node = Net(addresses=ADDRESSES, routes=ROUTES, listening=[], holders={}, rules=rules)
    assert rules_towards("10.20.7.1", node) == rules
    assert rules_towards("fd00::9", node) == [], "these rules are those of IPv4"
    assert rules_towards("10.0.0.9", node) == rules[1:]
    of_ipv6 = [Rule(9, "fd00::/64", "7", ipv6=True), Rule(10, None, "8", ipv6=True)]
    both = Net(addresses=ADDRESSES, routes=ROUTES, listening=[], holders={}, rules=[*rules, *of_ipv6])
    assert rules_towards("fd00::9", both) == of_ipv6
    assert rules_towards("fd01::9", both) == of_ipv6[1:]
    assert rules_towards("10.20.7.1", both) == rules
    # What is the node's own is in the table local, which comes first.
    assert rules_towards("10.0.0.5", node) == rules_towards("head.example", node) == []
