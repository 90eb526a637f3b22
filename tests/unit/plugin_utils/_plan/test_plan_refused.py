# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of everything that stands against a plan: named, with what was seen and what to do, all at once."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import PlanError
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.plan_parts import facts_dict, node, nodes, policy, refusal, request
from ansible_collections.muster.train.tests.support.rdma_parts import down, hca

NVIDIA = {"vendor": "nvidia", "count": 8}
AMD = {"vendor": "amd", "count": 8}


def test_no_node() -> None:
    assert refusal(request(0), policy(), [])[0].startswith(
        "cluster: nodes: the launch has no node; expected at least one host"
    )


def test_an_unknown_launcher_is_refused_with_the_known_ones() -> None:
    [line] = refusal(request(2, launcher="mpirun"), policy(), nodes(2))
    assert line.startswith("cluster: launcher: mpirun is unknown; expected one of torchrun, python, exec (-e launcher)")


def test_torchrun_without_torch_is_refused() -> None:
    without = {"torch": None, "site_packages": ["/v/site-packages"]}
    [line] = refusal(request(2), policy(), [node(0), node(1, versions=without)])
    assert line.startswith(
        "node1: torch installed: /usr/bin/python3 has no torch (searched /v/site-packages); expected torch"
    )
    # Its ranks may find what the node does not know of; another launcher needs none.
    for asked, of, env in (
        (request(2, env={"PYTHONPATH": "/opt/torch"}), policy(), {}),
        (request(2), policy(env={"PYTHONHOME": "/opt/py"}), {}),
        (request(2), policy(), {"PYTHONPATH": "/opt/torch"}),
        (request(2, launcher="python"), policy(), {}),
    ):
        assert make_plan(asked, of, [node(0), node(1, env, versions=without)])["nnodes"] == 2


def test_a_work_directory_without_locks_is_refused() -> None:
    without = {"workdir__flock": False, "workdir__flock_error": "Function not implemented"}
    [line] = refusal(request(2), policy(), nodes(2, workdir__filesystem="lustre", **without))
    assert line.startswith("node0 and node1: work directory: flock(2) does not work in /home/ann/muster on lustre: Fun")


def test_a_policy_of_one_node_is_refused() -> None:
    head, other = node(0), node(1)
    on = [
        dataclasses.replace(head, policy={"launch_slot": "a"}),
        dataclasses.replace(other, policy={"launch_slot": "b"}),
    ]
    [line] = refusal(request(2), policy(slot="a"), on)
    assert line.startswith("node1: launch_slot: it is 'b' for this node; expected 'a' as for the head, node0")


def test_rdma_without_devices_is_an_error() -> None:
    lines = refusal(request(2, mode="rdma"), policy(), [node(0, hcas=[hca("mlx5_0")]), node(1)])
    assert [line.split(": ")[:2] for line in lines] == [["node1", "rdma ports"]]


def test_rdma_that_an_environment_disables_is_an_error() -> None:
    on = nodes(2, hcas=[hca("mlx5_0")])
    [line] = refusal(request(2, mode="rdma"), policy(env={"NCCL_IB_DISABLE": 1}), on)
    assert "NCCL_IB_DISABLE=1 (cluster (launch_env)) contradicts mode=rdma (-e mode)" in line


def test_a_loopback_head_address_on_several_machines_is_an_error() -> None:
    [line] = refusal(request(2), policy(head_address="127.0.0.1"), nodes(2))
    assert line.startswith("node0: interface: 127.0.0.1 is a loopback address, but the nodes are on different machines")


def test_a_taken_port_names_its_holder() -> None:
    holders = {"29500": {"pid": 12, "command": "python3 other.py", "run_id": None}}
    on = [node(0, net__listening=[29500], net__holders=holders), node(1)]
    [line] = refusal(request(2, master_port=29500), policy(), on)
    assert line.startswith("node0: port: port 29500 is taken by process 12 (python3 other.py); expected")


def test_the_ports_of_other_nodes_do_not_matter() -> None:
    on = [node(0), node(1, net__listening=[29500])]
    assert make_plan(request(2, master_port=29500), policy(), on)["master_port"] == 29500


def test_unknown_facts_are_named_and_nothing_is_guessed() -> None:
    lines = refusal(request(2), policy(), [node(0), node(1, net=None)])
    assert len(lines) == 1
    assert lines[0].startswith("node1: facts: net is unknown; expected facts net")


def test_all_errors_are_shown_at_once() -> None:
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
    lines = refusal(asked, policy(head_address="localhost", env={"RANK": "1"}), on)
    assert sorted(tuple(line.split(": ")[:2]) for line in lines) == sorted(
        [
            ("node0", "slot"),
            ("node0", "port"),
            ("node0", "interface"),
            ("node0, node1, node2 and node3", "rdma ports"),
            ("node0, node1, node2 and node3", "environment"),
            ("node1", "work directory"),
            ("node1", "python interpreter"),
            ("node1", "nproc"),
            ("node1", "environment"),
            ("node2", "node"),
            ("node2", "code directory"),
            ("node3", "files"),
            ("cluster", "environment"),
        ]
    )
    assert all("; " in line for line in lines)


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
