# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of everything that stands against a plan: named, with what was seen and what to do, all at once."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, PlanError
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict, node, nodes, policy, refused, request
from ansible_collections.muster.train.tests.support.rdma_parts import down, hca

NVIDIA = {"vendor": "nvidia", "count": 8}
AMD = {"vendor": "amd", "count": 8}


WITHOUT_TORCH = {"torch": None, "site_packages": ["/v/site-packages"]}
WITHOUT_LOCKS = {"workdir__filesystem": "lustre", "workdir__flock": False, "workdir__flock_error": "not implemented"}
HOLDERS = {"29500": {"pid": 12, "command": "python3 other.py", "run_id": None}}


def of_one_node() -> list[Finding]:
    """What is found of a node with another policy than the head's."""
    on = [
        dataclasses.replace(node(0), policy={"launch_slot": "a"}),
        dataclasses.replace(node(1), policy={"launch_slot": "b"}),
    ]
    return refused(request(2), policy(slot="a"), on)


def everything() -> list[Finding]:
    """What is found where all sorts of things are wrong."""
    identity = facts_dict(1)["workdir"]["identity"]
    on = [
        node(
            0,
            holder={"run_id": "multinode_1", "node": "node0", "since": "2026-11-20T10:00:00Z"},
            net__listening=[29500],
        ),
        node(1, workdir__writable=False, python__path=None, gpu=NVIDIA, env={"X": None}),
        node(2, workdir__identity=identity, code__exists=False, files={}),
        node(3, config={"path": "/home/ann/code/big.yaml", "text": "- a"}),
    ]
    asked = request(4, config="big.yaml", mode="rdma", master_port=29500, channels=42, env={"NCCL_MIN_NCHANNELS": "50"})
    return refused(asked, policy(head_address="localhost", env={"RANK": "1"}), on)


CASES = [
    Case("no node", lambda: refused(request(0), policy(), []), [("nodes", None, "fail")]),
    Case(
        "an unknown launcher",
        lambda: refused(request(2, launcher="mpirun"), policy(), nodes(2)),
        [("launcher", None, "fail")],
    ),
    Case(
        "torchrun without torch",
        lambda: refused(request(2), policy(), [node(0), node(1, versions=WITHOUT_TORCH)]),
        [("torch installed", "node1", "fail")],
    ),
    Case(
        "a work directory without locks",
        lambda: refused(request(2), policy(), nodes(2, **WITHOUT_LOCKS)),
        [("work directory", "node0", "fail"), ("work directory", "node1", "fail")],
    ),
    Case("a policy of one node", of_one_node, [("launch_slot", "node1", "fail")]),
    Case(
        "no RDMA devices",
        lambda: refused(request(2, mode="rdma"), policy(), [node(0, hcas=[hca("mlx5_0")]), node(1)]),
        [("rdma ports", "node1", "fail")],
    ),
    Case(
        "RDMA that an environment disables",
        lambda: refused(request(2, mode="rdma"), policy(env={"NCCL_IB_DISABLE": 1}), nodes(2, hcas=[hca("mlx5_0")])),
        [("environment", "node0", "fail"), ("environment", "node1", "fail")],
    ),
    Case(
        "a loopback address of the head of several machines",
        lambda: refused(request(2), policy(head_address="127.0.0.1"), nodes(2)),
        [("interface", "node0", "fail")],
    ),
    Case(
        "a port that a process has",
        lambda: refused(
            request(2, master_port=29500),
            policy(),
            [node(0, net__listening=[29500], net__holders=HOLDERS), node(1)],
        ),
        [("port", "node0", "fail")],
    ),
    Case(
        "unknown facts",
        lambda: refused(request(2), policy(), [node(0), node(1, net=None)]),
        [("facts", "node1", "error")],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_stands_against_a_plan(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


def test_torch_is_not_missed_where_the_ranks_may_find_it() -> None:
    # Its ranks may find what the node does not know of; another launcher needs none.
    for asked, of, env in (
        (request(2, env={"PYTHONPATH": "/opt/torch"}), policy(), {}),
        (request(2), policy(env={"PYTHONHOME": "/opt/py"}), {}),
        (request(2), policy(), {"PYTHONPATH": "/opt/torch"}),
        (request(2, launcher="python"), policy(), {}),
    ):
        assert make_plan(asked, of, [node(0), node(1, env, versions=WITHOUT_TORCH)])["nnodes"] == 2


def test_the_ports_of_other_nodes_do_not_matter() -> None:
    on = [node(0), node(1, net__listening=[29500])]
    assert make_plan(request(2, master_port=29500), policy(), on)["master_port"] == 29500


def test_all_errors_are_shown_at_once() -> None:
    assert {(finding.node, finding.check) for finding in everything()} == {
        ("node0", "slot"),
        ("node0", "port"),
        ("node0", "interface"),
        *((f"node{number}", "rdma ports") for number in range(4)),
        *((f"node{number}", "environment") for number in range(4)),
        ("node1", "work directory"),
        ("node1", "python interpreter"),
        ("node1", "nproc"),
        ("node2", "node"),
        ("node2", "code directory"),
        ("node3", "files"),
        (None, "environment"),
    }


@pytest.mark.slow
def test_whatever_is_wrong_the_answer_is_a_plan_or_its_findings() -> None:
    """Any mix of good and bad parts: never another exception, and a plan only where nothing stood against it."""
    choice = random.Random(20261120)
    parts: dict[str, list[Any]] = {
        "net": [None, facts_dict(0)["net"], {**facts_dict(0)["net"], "routes": [], "addresses": []}],
        "code": [None, facts_dict(0)["code"]],
        "files": [None, {}, facts_dict(0)["files"]],
        "gpu": [None, NVIDIA, AMD, {"vendor": None, "count": 0}],
        "hcas": [None, [], [hca("mlx5_0")], [hca("mlx5_0", down())]],
        "boot_id": [None, "b"],
        "config": [None, {"path": "/c", "text": None}, {"path": "/c", "text": "a: 1"}, {"path": "/c", "text": ":"}],
        "holder": [None, None, {}],
    }
    outcomes = []
    for _round in range(300):
        on = [
            node(number, **{key: choice.choice(parts[key]) for key in parts})
            for number in range(choice.choice([1, 1, 2, 3]))
        ]
        asked = request(
            len(on),
            mode=choice.choice(["auto", "rdma", "tcp"]),
            nproc=choice.choice([None, 1, 2]),
            config=choice.choice([None, "big.yaml"]),
            master_port=choice.choice([None, 22, 30000]),
        )
        with contextlib.suppress(PlanError):
            outcomes.append(make_plan(asked, policy(head_address=choice.choice(["", "127.0.0.1", "10.0.0.1"])), on))
    assert 0 < len(outcomes) < 300
    for plan in outcomes:
        assert {finding["status"] for finding in plan["findings"]} <= {"warn"}
        assert all(job["rendezvous"]["address"] for job in plan["jobs"].values())
