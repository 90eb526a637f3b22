# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses that several nodes have are never the head's."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import Address, Net, NodeFacts, Route
from ansible_collections.muster.train.plugins.plugin_utils._cluster.head_name import decide_address
from ansible_collections.muster.train.tests.support.cases import Outcome, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import nodes

NAT, LAN = ("eth0", "10.0.2.0/24"), ("eth1", "192.168.56.0/24")
BRIDGE = ("docker0", "172.17.0.0/16")


def net(*addresses: tuple[tuple[str, str], str], default: str = "eth0") -> Net:
    routes = [Route(network, interface, None, 0) for (interface, network), _address in addresses]
    return Net(
        addresses=[Address("127.0.0.1", "lo"), *(Address(text, place[0]) for place, text in addresses)],
        routes=[Route("0.0.0.0/0", default, "10.0.2.2", 100), *routes],
        listening=[],
        holders={},
    )


def decided(*nets: Net, policy: str = "", inventory: str = "", one_machine: bool = False) -> tuple[str, list[Outcome]]:
    facts: dict[str, NodeFacts] = {
        item.name: dataclasses.replace(
            item.facts, net=given, machine_id="m", boot_id="boot" if one_machine else f"boot-{item.name}"
        )
        for item, given in zip(nodes(len(nets)), nets, strict=True)
    }
    chosen, findings = decide_address(facts, policy, inventory)
    return chosen.value, outcomes(findings)


BEHIND_NAT = [net((NAT, "10.0.2.15"), (LAN, f"192.168.56.1{number}")) for number in range(3)]
REFUSED = [("interface", "node0", "fail")]


@pytest.mark.parametrize("inventory", ["", "10.0.2.15", "node0.example.org"])
def test_behind_nat_the_network_that_all_are_in(inventory: str) -> None:
    assert decided(*BEHIND_NAT, inventory=inventory) == ("192.168.56.10", [])


def test_how_ansible_reaches_the_head_is_enough() -> None:
    assert decided(*BEHIND_NAT, inventory="192.168.56.10") == ("192.168.56.10", [])


def test_behind_nat_alone_there_is_no_address() -> None:
    assert decided(net((NAT, "10.0.2.15")), net((NAT, "10.0.2.15")))[1] == REFUSED


@pytest.mark.parametrize("address", ["10.0.2.15", "172.17.0.1"])
def test_one_that_users_set_is_refused(address: str) -> None:
    machines = [net((NAT, "10.0.2.15"), (BRIDGE, "172.17.0.1"), (LAN, f"192.168.56.1{number}")) for number in range(2)]
    assert decided(*machines, policy=address) == (address, REFUSED)


def test_a_bridge_beside_the_nodes_own_addresses_changes_nothing() -> None:
    machines = [net((LAN, f"192.168.56.1{number}"), (BRIDGE, "172.17.0.1"), default="eth1") for number in range(2)]
    assert decided(*machines) == ("192.168.56.10", [])
    assert decided(*machines, policy="192.168.56.10") == ("192.168.56.10", [])


def test_nodes_of_one_machine_have_all_addresses_in_common() -> None:
    machine = net((LAN, "192.168.56.10"), default="eth1")
    assert decided(machine, machine, one_machine=True) == ("192.168.56.10", [])
