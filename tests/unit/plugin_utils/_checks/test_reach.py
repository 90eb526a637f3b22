# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that do not accept what others begin, and nodes that do."""

from __future__ import annotations

import dataclasses
import errno

import pytest

from ansible_collections.muster.train.plugins.module_utils._net.reach import RESULTS
from ansible_collections.muster.train.plugins.module_utils._records.health import Reach
from ansible_collections.muster.train.plugins.plugin_utils._checks.model import Cluster
from ansible_collections.muster.train.plugins.plugin_utils._checks.reach import reach
from ansible_collections.muster.train.plugins.plugin_utils._cluster.connections import TriedConnection
from ansible_collections.muster.train.tests.support.plan_parts import nodes


def judged(*results: str | None, to_head: list[Reach] | None = None) -> list[str]:
    """What is found of a node to which others connected with these results."""
    node = nodes(1)[0]
    node = dataclasses.replace(
        node, facts=dataclasses.replace(node.facts, reach=to_head if to_head is not None else [])
    )
    tried = tuple(
        TriedConnection(
            f"n{number}", node.name, "10.9.0.2", 47001, Reach("10.9.0.2", 47001, result) if result else None
        )
        for number, result in enumerate(results)
    )
    cluster = Cluster({node.name: node}, connections={node.name: tried})
    return [outcome.status for _name, outcome in reach(cluster)]


@pytest.mark.parametrize(
    ("results", "statuses"),
    [
        (("refused", "connected"), ["pass"]),
        (("refused", None), ["pass"]),
        ((None, None), ["skip"]),
        ((), ["skip"]),
        (("unreachable", "refused"), ["fail"]),
        (("timeout",), ["fail"]),
        (("unknown",), ["fail"]),
        (("unreachable", "timeout"), ["fail"]),
    ],
)
def test_what_others_began(results: tuple[str | None, ...], statuses: list[str]) -> None:
    assert judged(*results) == statuses


def test_both_directions_are_told() -> None:
    head = [Reach("10.9.0.1", 29500, "timeout")]
    assert judged("unreachable", to_head=head) == ["fail", "fail"]
    assert judged("refused", to_head=head) == ["fail"]
    assert judged("refused", to_head=[Reach("10.9.0.1", 29500, "refused")]) == ["pass"]


@pytest.mark.parametrize("number", [errno.EHOSTUNREACH, errno.EACCES, errno.ETIMEDOUT])
def test_what_firewalls_answer_is_no_answer_of_the_host(number: int) -> None:
    assert judged(RESULTS[number]) == ["fail"]
