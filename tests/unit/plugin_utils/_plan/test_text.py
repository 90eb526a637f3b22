# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the readable plan."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._plan.text import render
from ansible_collections.muster.train.tests.support.plan_parts import node, nodes, policy, request
from ansible_collections.muster.train.tests.support.rdma_parts import hca, port

NVIDIA = {"vendor": "nvidia", "count": 2}


def one_node() -> dict[str, Any]:
    asked = request(
        1, channels=42, nproc=2, config="big.yaml", script_args=["--note", "two words"], env={"A": "two words"}
    )
    return make_plan(asked, policy(env={"A": 1}), [node(0, code__dirty=True)])


def in_full() -> dict[str, Any]:
    """A plan of which every node is asked for."""
    plan = make_plan(request(3, time_limit=90), policy(), nodes(3))
    return {**plan, "parameters": {"all": {"value": True, "origin": "-e all", "layer": 0}}}


def odd_node() -> dict[str, Any]:
    """A plan of a dozen nodes of which one does something else."""
    plan = make_plan(request(12), policy(), nodes(12))
    plan["jobs"]["node7"]["stop_grace"] = 7
    return plan


def without_git() -> dict[str, Any]:
    code: dict[str, Any] = {"code__commit": None, "code__branch": None, "code__dirty": None, "code__tree": "c" * 64}
    return make_plan(request(1), policy(), [node(0, **code)])


def on_rdma() -> dict[str, Any]:
    """A plan of nodes that have one adapter each, but for the last, which has two."""
    on = [node(number, gpu=NVIDIA, hcas=[hca("mlx5_0"), hca("mlx5_1")]) for number in range(2)]
    on.append(node(2, gpu=NVIDIA, hcas=[hca("mlx5_0"), hca("mlx5_1"), hca("mlx5_9", port(rate=100.0))]))
    return make_plan(request(3), policy(), on)


PLANS = {
    "one node": one_node(),
    "every node in full": in_full(),
    "nodes that do the same share a section": make_plan(request(12), policy(), nodes(12)),
    "a node that does something else": odd_node(),
    "ranks start elsewhere than in the code": make_plan(request(1), policy(cwd="run"), nodes(1)),
    "code without git": without_git(),
    "equal warnings are one line": make_plan(request(2), policy(head_address="head.example"), nodes(2)),
    "variables that are not set": on_rdma(),
    "no warnings": make_plan(request(2), policy(), nodes(2)),
}


def sections(name: str) -> int:
    return len(render(PLANS[name]).split("\n\n"))


def test_nodes_that_do_the_same_share_a_section() -> None:
    alike = sections("nodes that do the same share a section")
    assert alike == sections("no warnings")
    assert sections("a node that does something else") == alike + 1
    assert sections("every node in full") == alike + 1
    assert sections("equal warnings are one line") == alike + 1


def test_where_ranks_start() -> None:
    job = PLANS["ranks start elsewhere than in the code"]["jobs"]["node0"]
    assert (job["code_dir"], job["cwd"]) == ("/home/ann/code", job["output_dir"])


def test_what_came_from_a_host_cannot_steer_the_terminal() -> None:
    text = render(make_plan(request(1), policy(), [node(0, workdir__path="/w\x1b[2J\nnode 9: x")]))
    assert "\x1b" not in text
    assert "\nnode 9" not in text
