# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of how the plan says a runner will be started."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._cluster.node import Node, srun_job_of
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


def reached(of_node: NodeFacts, srun_job: str | None = None) -> Node:
    return Node("node0", of_node, srun_job=srun_job)


CHOICES = [
    ("auto", reached(in_job("3"), "12"), "slurm", None),
    ("auto", reached(in_job("3", uid=0), "12"), "slurm", None),
    ("auto", reached(in_job("3", is_tracked=False), "12"), "slurm", None),
    # A unit would leave the job.
    ("auto", reached(in_job("extern")), "setsid", None),
    ("setsid", reached(in_job("extern")), "setsid", None),
    # The controller is in a step itself: by the local connection, and where another job's variables are set.
    ("auto", reached(in_job("3", uid=0)), "setsid", None),
    ("auto", reached(in_job("3", is_tracked=False), "13"), "setsid", None),
    ("auto", reached(user(0, True, False)), "systemd", "setsid"),
    ("auto", reached(user(1000, True, True)), "systemd-user", "setsid"),
    ("auto", reached(user(1000, True, False)), "setsid", None),
    ("auto", reached(user(0, False, True)), "setsid", None),
    ("setsid", reached(user(0, True, True)), "setsid", None),
    ("systemd", reached(user(0, True, False)), "systemd", None),
    ("systemd", reached(user(1000, True, True)), "systemd-user", None),
]


@pytest.mark.parametrize(("asked", "of_node", "name", "fallback"), CHOICES)
def test_choice(asked: str, of_node: Node, name: str, fallback: str | None) -> None:
    chosen = choose(asked, of_node)
    assert (chosen.name, chosen.fallback) == (name, fallback)


SRUN = "muster.train.srun"


@pytest.mark.parametrize(
    ("variables", "job"),
    [
        ({"ansible_connection": SRUN, "ansible_srun_job": 12}, "12"),
        ({"ansible_srun_job": "12"}, "12"),  # the connection is named on the command line
        ({"ansible_connection": "local", "ansible_srun_job": "12"}, None),
        ({"ansible_connection": SRUN}, None),
        ({}, None),
    ],
)
def test_a_node_is_reached_by_steps_of_the_job_of_its_connection(variables: dict[str, Any], job: str | None) -> None:
    assert srun_job_of(variables) == job


NODES = {"node0": user(1000, True, False), "node1": user(0, True, False), "node2": user(0, False, False)}


def refused(**policy: Any) -> list[Finding]:
    return wrong("starter", NODES, policy=ClusterPolicy(**policy))


def test_systemd_that_takes_no_unit_of_this_user_is_refused() -> None:
    assert outcomes(refused(starter="systemd")) == [("starter", "node0", "fail"), ("starter", "node2", "fail")]
    assert [refused(starter=asked) for asked in ("auto", "setsid")] == [[], []]
    assert refused(starter="systemd", runtime="docker") == []


IN_STEPS = {"node0": in_job("3"), "node1": in_job("4", is_tracked=False), "node2": user(1000, True, True)}


def in_steps_refused(**policy: Any) -> list[Finding]:
    return wrong("starter", IN_STEPS, srun_job="12", policy=ClusterPolicy(**policy))


def test_what_a_step_would_end_or_no_step_can_start_is_refused() -> None:
    assert outcomes(in_steps_refused(starter="setsid")) == [("starter", "node0", "fail")]
    assert outcomes(in_steps_refused(starter="slurm")) == [("starter", "node2", "fail")]
    assert in_steps_refused(starter="auto") == []


def become_refused() -> list[Finding]:
    """What sudo leaves: the control group of the step, and none of its variables."""
    slurm = {"job": "12", "step": "3", "node": None, "is_tracked": True}
    return wrong("starter", {"node0": facts(0, user__name="root", slurm=slurm)}, srun_job="12")


def test_in_a_step_the_runner_is_the_jobs_user() -> None:
    assert outcomes(become_refused()) == [("starter", "node0", "fail")]
