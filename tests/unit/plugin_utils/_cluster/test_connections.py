# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes try to connect to which, and at which addresses."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import Address, Net, NodeFacts, Route
from ansible_collections.muster.train.plugins.plugin_utils._cluster.connections import PORT, plan_connections
from ansible_collections.muster.train.tests.support.plan_parts import nodes


def net(*addresses: str, listening: tuple[int, ...] = (), network: str = "10.9.0.0/24") -> Net:
    return Net(
        addresses=[Address("127.0.0.1", "lo"), *(Address(text, f"eth{place}") for place, text in enumerate(addresses))],
        routes=[Route(network, "eth0", None, 0)],
        listening=list(listening),
        holders={},
    )


def cluster(*nets: Net | None) -> dict[str, NodeFacts]:
    made = {item.name: item.facts for item in nodes(len(nets))}
    return {
        name: dataclasses.replace(facts, net=given, boot_id=f"boot-{name}")
        for (name, facts), given in zip(made.items(), nets, strict=True)
    }


def pairs(facts: dict[str, NodeFacts], head: str = "10.9.0.1") -> list[tuple[str, str, str]]:
    return [(item.source, item.target, item.address) for item in plan_connections(facts, head)]


def test_the_head_tries_all_and_each_the_next() -> None:
    facts = cluster(*(net(f"10.9.0.{number}") for number in (1, 2, 3)))
    head, *others = facts
    assert pairs(facts) == [
        (head, others[0], "10.9.0.2"),
        (head, others[1], "10.9.0.3"),
        (others[0], others[1], "10.9.0.3"),
        (others[1], head, "10.9.0.1"),
    ]


def test_two_nodes_try_each_other() -> None:
    assert len(pairs(cluster(net("10.9.0.1"), net("10.9.0.2")))) == 2


def test_the_address_is_that_of_the_interface_towards_the_head() -> None:
    facts = cluster(net("10.9.0.1", "172.17.0.1"), net("10.9.0.2", "172.17.0.1"))
    assert {address for _source, _target, address in pairs(facts)} == {"10.9.0.1", "10.9.0.2"}


def test_of_ipv6_the_address_of_the_link_is_left_out() -> None:
    facts = cluster(net("fd00::1", network="fd00::/64"), net("fd00::2", network="fd00::/64"))
    second = list(facts)[1]
    two = net("fd00::2", network="fd00::/64")
    addresses = [Address("fe80::2", "eth0"), Address("fd00::2", "eth0")]
    facts[second] = dataclasses.replace(facts[second], net=dataclasses.replace(two, addresses=addresses))
    tried = plan_connections(facts, "fd00::1")
    assert [item.text for item in tried] == [f"[fd00::2]:{PORT}", f"[fd00::1]:{PORT}"]


def test_a_port_at_which_something_listens_is_not_tried() -> None:
    facts = cluster(net("10.9.0.1"), net("10.9.0.2", listening=(PORT, PORT + 1)))
    assert {item.target: item.port for item in plan_connections(facts, "10.9.0.1")}[list(facts)[1]] == PORT + 2


@pytest.mark.parametrize(
    ("port_range", "listening", "port"),
    [
        (None, (), PORT),
        ([32768, 60999], (), PORT),
        ([50000, 50010], (), 50000),
        ([50000, 50010], (50000,), 50001),
        ([20000, PORT - 1], (), 20000),
        ([50000, 50000], (50000,), 50000),
    ],
)
def test_the_port_is_one_that_the_kernel_would_give(
    port_range: list[int] | None, listening: tuple[int, ...], port: int
) -> None:
    target = dataclasses.replace(net("10.9.0.2", listening=listening), port_range=port_range)
    facts = cluster(net("10.9.0.1"), target)
    assert {item.target: item.port for item in plan_connections(facts, "10.9.0.1")}[list(facts)[1]] == port


def test_nothing_is_tried_where_there_is_no_way_between_nodes() -> None:
    assert pairs(cluster(net("10.9.0.1"))) == []
    same = cluster(net("10.9.0.1"), net("10.9.0.1"))
    assert (
        pairs({name: dataclasses.replace(facts, boot_id="one", machine_id="one") for name, facts in same.items()}) == []
    )
    # Behind NAT every virtual machine has this address.
    assert (
        pairs(cluster(net("10.0.2.15", network="10.0.2.0/24"), net("10.0.2.15", network="10.0.2.0/24")), "10.0.2.15")
        == []
    )
