# SPDX-License-Identifier: GPL-3.0-or-later
"""The head's address where the inventory has a name."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._cluster.head_address import HeadAddress
from ansible_collections.muster.train.plugins.plugin_utils._cluster.head_name import resolve_name
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict

NAME = "trainer"


def answer(*addresses: str) -> dict[str, Any]:
    return {"addresses": list(addresses), "source": "/etc/hosts"}


def resolve(*answers: dict[str, Any] | None, chosen: str = NAME) -> tuple[HeadAddress, list[Finding]]:
    """Resolve with what each node, the head first, says of the name."""
    facts = {
        f"node{number}": NodeFacts.from_dict(
            facts_dict(number, names=None if resolution is None else {NAME: resolution})
        )
        for number, resolution in enumerate(answers)
    }
    return resolve_name(HeadAddress(chosen, "launch_head_address"), facts)


@pytest.mark.parametrize("of_head", [["127.0.1.1"], ["10.0.0.1"], []])
def test_the_other_nodes_know_where_the_head_is(of_head: list[str]) -> None:
    address, findings = resolve(answer(*of_head), answer("10.0.0.1"), answer("10.0.0.1"))
    assert (address.value, findings) == ("10.0.0.1", [])
    assert address.reason == "launch_head_address trainer, as node1 and node2 resolve it"


def test_of_several_addresses_one_that_all_have() -> None:
    assert resolve(answer(), answer("fd00::1", "10.0.0.1"), answer("10.0.0.1"))[0].value == "10.0.0.1"


def test_of_several_addresses_one_that_the_head_has() -> None:
    both = answer("fe80::1", "10.9.9.9", "10.0.0.1")
    assert resolve(answer(), both, both)[0].value == "10.0.0.1"
    assert resolve(answer(), answer("fe80::1", "10.9.9.9"))[0].value == "10.9.9.9"


def test_a_link_local_address_is_not_chosen() -> None:
    address, findings = resolve(answer(), answer("169.254.3.4"))
    assert (address.value, findings) == (NAME, [])


@pytest.mark.parametrize(
    "bad", [answer("127.0.1.1"), {"addresses": [], "error": "Name or service not known"}], ids=["loopback", "unknown"]
)
def test_a_node_that_cannot_reach_the_name_is_refused(bad: dict[str, Any]) -> None:
    _address, [finding] = resolve(answer("10.0.0.1"), answer("10.0.0.1"), bad)
    assert (finding.node, finding.status) == ("node2", "fail")
    assert "127.0.1.1" in finding.observed or "Name or service not known" in finding.observed
    assert "/etc/hosts" in str(finding.remedy)


def test_different_addresses_stay_a_name_unless_the_head_listens_for_itself_alone() -> None:
    different = answer("10.0.0.1"), answer("192.168.7.1")
    address, findings = resolve(answer("10.0.0.1"), *different)
    assert (address.value, findings) == (NAME, [])
    _address, [finding] = resolve(answer("127.0.1.1"), *different)
    assert (finding.node, finding.status) == ("node0", "fail")
    assert "127.0.1.1" in finding.observed


def test_what_needs_no_answer() -> None:
    for chosen in ("10.0.0.9", "fd00::9", ""):
        assert resolve(answer("127.0.1.1"), answer("10.0.0.1"), chosen=chosen)[0].value == chosen
    assert resolve(None, None)[0].value == NAME
    # One machine alone listens for itself.
    assert resolve(answer("127.0.1.1"))[0].value == NAME
