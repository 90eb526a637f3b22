# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of the head, the policy, the starter and a silent host: tests/screens/messages/cluster.txt."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.muster.train.plugins.plugin_utils._cluster.head_address import (
    choose_address,
    interface_towards,
)
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import check_alike
from ansible_collections.muster.train.plugins.plugin_utils._cluster.ports import pick, read_range
from ansible_collections.muster.train.plugins.plugin_utils._cluster.reasons import ReasonKey
from ansible_collections.muster.train.plugins.plugin_utils._cluster.starter import choose
from ansible_collections.muster.train.plugins.plugin_utils._cluster.unreachable import explain, why
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line, lines
from ansible_collections.muster.train.tests.support.screens import Message, errors, kept, page_of
from ansible_collections.muster.train.tests.unit.plugin_utils._cluster import (
    test_head_address,
    test_head_name,
    test_policy,
    test_ports,
    test_starter,
    test_unreachable,
)

TRIED = test_unreachable.TRIED


def messages() -> Iterator[Message]:
    head = test_head_address
    chosen = [
        choose_address("node0", policy, inventory, head.net(routes=routes), together)[0]
        for policy, inventory, routes, together, _value in head.CHOSEN
    ]
    resolved, _findings = test_head_name.resolve(*[test_head_name.HEAD] * 3)
    yield "head: its address", [f"{address.value}  # {address.reason}" for address in (*chosen, resolved)]
    towards = (interface_towards(address, head.OF_IPV4) for address in head.TOWARDS)
    yield "head: interfaces towards it", [f"{item.name}  # {item.reason}" for item in towards if item]
    for name, (address, net) in head.REFUSED.items():
        yield f"head: {name}", lines(choose_address("node0", address, "node0", net, False)[1])
    for name, (_node, answers) in test_head_name.REFUSED.items():
        yield f"name of the head: {name}", lines(test_head_name.resolve(*answers)[1])
    yield "port: free", [pick(None, "default", (29400, 29409), "0" * 32, "node0", test_ports.net())[0].reason]
    yield from ((f"port: {case.name}", lines(case.find())) for case in test_ports.CASES)
    yield "range of ports", errors(read_range, test_ports.RANGES_REFUSED)
    yield "policy: refused", [line(test_policy.refused(**{name: value})[0]) for name, value in test_policy.REFUSED]
    yield "policy: of a node's own", lines(check_alike(test_policy.OWN))
    yield "policy: an environment of a node's own", lines(check_alike(test_policy.ENVIRONMENTS))
    choices = (choose(asked, node) for asked, node, _name, _fallback in test_starter.CHOICES)
    yield "starter: chosen", [f"{choice.name}  # {choice.reason}" for choice in choices]
    yield "starter: refused", lines(test_starter.refused(starter="systemd"))
    for asked in ("setsid", "slurm"):
        yield f"starter: {asked} in a Slurm job", lines(test_starter.in_steps_refused(starter=asked))
    yield "starter: another user in a Slurm job", lines(test_starter.become_refused())
    yield "silent: reasons", [line(explain(key, TRIED, "Ansible")) for key in ReasonKey]
    yield "silent: in other words", [line(why(message, TRIED, "Ansible")) for message in test_unreachable.UNKNOWN]
    yield "silent: without a user", [line(explain(ReasonKey.NO_LOGIN, test_unreachable.NOBODY, "Ansible"))]


def test_what_is_said_of_a_cluster() -> None:
    text = page_of(messages())
    assert text == kept("messages/cluster.txt", text)
