# SPDX-License-Identifier: GPL-3.0-or-later
"""The head's address where the inventory has a name."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._cluster.head_address import HeadAddress
from ansible_collections.muster.train.plugins.plugin_utils._cluster.head_name import resolve_name
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.plan_parts import facts

NAME = "trainer"


def answer(*addresses: str) -> dict[str, Any]:
    return {"addresses": list(addresses), "source": "/etc/hosts"}


def resolve(*answers: dict[str, Any] | None, chosen: str = NAME) -> tuple[HeadAddress, list[Finding]]:
    """Resolve with what each node, the head first, says of the name."""
    on = {f"node{n}": facts(n, names=names and {NAME: names}) for n, names in enumerate(answers)}
    return resolve_name(HeadAddress(chosen, "launch_head_address"), on)


@pytest.mark.parametrize("of_head", [["127.0.1.1"], ["10.0.0.1"], []])
def test_the_other_nodes_know_where_the_head_is(of_head: list[str]) -> None:
    address, findings = resolve(answer(*of_head), answer("10.0.0.1"), answer("10.0.0.1"))
    assert (address.value, findings) == ("10.0.0.1", [])


def test_of_several_addresses_one_that_all_have() -> None:
    assert resolve(answer(), answer("fd00::1", "10.0.0.1"), answer("10.0.0.1"))[0].value == "10.0.0.1"


def test_of_several_addresses_one_that_the_head_has() -> None:
    both = answer("fe80::1", "10.9.9.9", "10.0.0.1")
    assert resolve(answer(), both, both)[0].value == "10.0.0.1"
    assert resolve(answer(), answer("fe80::1", "10.9.9.9"))[0].value == "10.9.9.9"


def test_a_link_local_address_is_not_chosen() -> None:
    address, findings = resolve(answer(), answer("169.254.3.4"))
    assert (address.value, findings) == (NAME, [])


HEAD, UNKNOWN = answer("10.0.0.1"), {"addresses": [], "error": "Name or service not known"}
DIFFERENT = HEAD, answer("192.168.7.1")
REFUSED = {
    "loopback on a node": ("node2", (HEAD, HEAD, answer("127.0.1.1"))),
    "unknown to a node": ("node2", (HEAD, HEAD, UNKNOWN)),
    "loopback on the head, and different addresses on the others": ("node0", (answer("127.0.1.1"), *DIFFERENT)),
}


@pytest.mark.parametrize(("node", "answers"), REFUSED.values(), ids=REFUSED)
def test_a_name_that_does_not_lead_to_the_head_is_refused(node: str, answers: tuple[dict[str, Any], ...]) -> None:
    assert outcomes(resolve(*answers)[1]) == [("interface", node, "fail")]


def test_different_addresses_stay_a_name() -> None:
    address, findings = resolve(HEAD, *DIFFERENT)
    assert (address.value, findings) == (NAME, [])


def test_what_needs_no_answer() -> None:
    for chosen in ("10.0.0.9", "fd00::9", ""):
        assert resolve(answer("127.0.1.1"), answer("10.0.0.1"), chosen=chosen)[0].value == chosen
    assert resolve(None, None)[0].value == NAME
    # One machine alone listens for itself.
    assert resolve(answer("127.0.1.1"))[0].value == NAME
