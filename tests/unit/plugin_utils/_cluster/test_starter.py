# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of how the plan says a runner will be started."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._cluster.policy import ClusterPolicy
from ansible_collections.muster.train.plugins.plugin_utils._cluster.starter import choose
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict, wrong


def facts(uid: int, booted: bool, linger: bool) -> NodeFacts:
    user = {"name": "ann", "uid": uid, "home": "/home/ann"}
    return NodeFacts.from_dict(facts_dict(0, user=user, systemd={"booted": booted, "linger": linger}))


@pytest.mark.parametrize(
    ("uid", "booted", "linger", "asked", "name", "reason", "fallback"),
    [
        (0, True, False, "auto", "systemd", "auto: root, where systemd runs", "setsid"),
        (1000, True, True, "auto", "systemd-user", "auto: ann has lingering enabled, where systemd runs", "setsid"),
        (
            1000,
            True,
            False,
            "auto",
            "setsid",
            "auto: ann does not have lingering enabled (loginctl enable-linger)",
            None,
        ),
        (0, False, True, "auto", "setsid", "auto: systemd does not run here", None),
        (0, True, True, "setsid", "setsid", "launch_starter", None),
        (0, True, False, "systemd", "systemd", "launch_starter", None),
        (1000, True, True, "systemd", "systemd-user", "launch_starter", None),
    ],
)
def test_choice(uid: int, booted: bool, linger: bool, asked: str, name: str, reason: str, fallback: str | None) -> None:
    chosen = choose(asked, facts(uid, booted, linger))
    assert (chosen.name, chosen.reason, chosen.fallback) == (name, reason, fallback)


def test_systemd_that_takes_no_unit_of_this_user_is_refused() -> None:
    nodes = {"node0": facts(1000, True, False), "node1": facts(0, True, False), "node2": facts(0, False, False)}
    findings = wrong("starter", nodes, policy=ClusterPolicy(starter="systemd"))
    assert [(finding.node, finding.status) for finding in findings] == [("node0", "fail"), ("node2", "fail")]
    assert findings[0].observed == "ann does not have lingering enabled (loginctl enable-linger)"
    assert findings[1].observed == "systemd does not run here"
    for asked in ("auto", "setsid"):
        assert wrong("starter", nodes, policy=ClusterPolicy(starter=asked)) == []
    assert wrong("starter", nodes, policy=ClusterPolicy(starter="systemd", runtime="docker")) == []
