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


def in_job(step: str, uid: int = 1000, booted: bool = True, is_tracked: bool = True) -> NodeFacts:
    slurm = {"job": "12", "step": step, "node": "gpu01", "is_tracked": is_tracked}
    return facts(0, user__uid=uid, systemd={"booted": booted, "linger": True}, slurm=slurm)


CHOICES = [
    ("auto", in_job("3"), "slurm", None),
    ("auto", in_job("3", uid=0), "slurm", None),
    ("auto", in_job("3", is_tracked=False), "slurm", None),
    # A unit would leave the job.
    ("auto", in_job("extern"), "setsid", None),
    ("setsid", in_job("extern"), "setsid", None),
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


IN_STEPS = {"node0": in_job("3"), "node1": in_job("4", is_tracked=False), "node2": user(1000, True, True)}


def in_steps_refused(**policy: Any) -> list[Finding]:
    return wrong("starter", IN_STEPS, policy=ClusterPolicy(**policy))


def test_what_a_step_would_end_or_no_step_can_start_is_refused() -> None:
    assert outcomes(in_steps_refused(starter="setsid")) == [("starter", "node0", "fail")]
    assert outcomes(in_steps_refused(starter="slurm")) == [("starter", "node2", "fail")]
    assert in_steps_refused(starter="auto") == []
