# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of how the plan says a runner will be started."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._cluster.starter import choose
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.plan_parts import facts, wrong


def user(uid: int, booted: bool, linger: bool) -> NodeFacts:
    return facts(0, user__uid=uid, systemd={"booted": booted, "linger": linger})


CHOICES = [
    ("auto", user(0, True, False), "systemd", "setsid"),
    ("auto", user(1000, True, True), "systemd-user", "setsid"),
    ("auto", user(1000, True, False), "setsid", None),
    ("auto", user(0, False, True), "setsid", None),
    ("setsid", user(0, True, True), "setsid", None),
    ("systemd", user(0, True, False), "systemd", None),
    ("systemd", user(1000, True, True), "systemd-user", None),
]


@pytest.mark.parametrize(("asked", "of_node", "name", "fallback"), CHOICES)
def test_choice(asked: str, of_node: NodeFacts, name: str, fallback: str | None) -> None:
    chosen = choose(asked, of_node)
    assert (chosen.name, chosen.fallback) == (name, fallback)


NODES = {"node0": user(1000, True, False), "node1": user(0, True, False), "node2": user(0, False, False)}


def refused(**policy: Any) -> list[Finding]:
    return wrong("starter", NODES, policy=ClusterPolicy(**policy))


def test_systemd_that_takes_no_unit_of_this_user_is_refused() -> None:
    assert outcomes(refused(starter="systemd")) == [("starter", "node0", "fail"), ("starter", "node2", "fail")]
    assert [refused(starter=asked) for asked in ("auto", "setsid")] == [[], []]
    assert refused(starter="systemd", runtime="docker") == []
