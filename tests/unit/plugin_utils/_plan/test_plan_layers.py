# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the plan: what wins in it, what is refused, and what is only a warning."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.cases import Case, outcomes
from ansible_collections.muster.train.tests.support.plan_parts import RUN_ID, node, nodes, policy, refused, request
from ansible_collections.muster.train.tests.support.plans import NVIDIA, environment, plan_of, variable
from ansible_collections.muster.train.tests.support.rdma_parts import hca

CLUSTER = "cluster (launch_defaults)"


# -- environment -----------------------------------------------------------------------------------------------------


def layered() -> dict[str, Any]:
    """A plan in which every layer sets some of the variables."""
    on = [node(0, env={"B": "node", "C": "node"}), node(1)]
    layers = {"A": "cluster", "B": "cluster", "C": "cluster", "NCCL_SOCKET_IFNAME": "=eth1"}
    return make_plan(request(2, env={"C": "run"}), policy(env=layers), on)


def test_the_run_wins_over_the_node_over_the_cluster_over_what_was_decided() -> None:
    plan = layered()
    assert {name: variable(plan, name) for name in ("NCCL_SOCKET_IFNAME", "A", "B", "C")} == {
        "NCCL_SOCKET_IFNAME": ("=eth1", "cluster"),
        "A": ("cluster", "cluster"),
        "B": ("node", "node"),
        "C": ("run", "extra_vars"),
    }
    assert variable(plan, "B", "node1") == ("cluster", "cluster")


def test_every_layer_wins_over_what_trackers_get_by_default() -> None:
    assert variable(plan_of(), "WANDB_NAME") == (RUN_ID, "default")
    assert variable(plan_of(env={"WANDB_NAME": "{run_id} a"}), "WANDB_NAME") == (f"{RUN_ID} a", "cluster")


@pytest.mark.parametrize(
    ("layer", "value"), [("extra_vars", "42"), ("environment", "42"), ("earlier", "42"), ("cluster", "8")]
)
def test_channels_of_the_run_win_over_a_nodes_policy_and_those_of_the_cluster_do_not(layer: str, value: str) -> None:
    on = [node(0, env={"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": 8}), node(1)]
    plan = make_plan(request(2, channels={"value": 42, "origin": "somewhere", "layer": layer}), policy(), on)
    assert environment(plan)["NCCL_MIN_NCHANNELS"] == environment(plan)["NCCL_MAX_NCHANNELS"] == value
    assert environment(plan, "node1")["NCCL_MAX_NCHANNELS"] == "42"


def test_the_clusters_env_parameter_lies_below_the_nodes() -> None:
    on = [node(0, env={"A": "node"}), node(1)]
    plan = make_plan(
        request(2, env={"value": {"A": "defaults"}, "origin": CLUSTER, "layer": "cluster"}),
        policy(env={"A": "cluster"}),
        on,
    )
    assert variable(plan, "A") == ("node", "node")
    assert variable(plan, "A", "node1") == ("defaults", "cluster")


def test_mode_tcp_disables_rdma_on_every_node() -> None:
    plan = plan_of(mode="tcp", facts={"hcas": [hca("mlx5_0")]})
    assert plan["fabric"]["value"] == "tcp"
    for name in plan["nodes"]:
        assert variable(plan, "NCCL_IB_DISABLE", name) == ("1", "extra_vars")


def own_name(name: str) -> list[Finding]:
    """What is found of a name of Muster's own that every layer sets."""
    bad = {name: "1"}
    return refused(request(2, env=bad), policy(env=bad), [node(0, env=bad), node(1)])


def secret() -> list[Finding]:
    return refused(request(2), policy(env={"HF_TOKEN": "hunter2"}), nodes(2))


CASES = [
    Case(
        "contradicting channels",
        lambda: refused(request(2, env={"NCCL_MIN_NCHANNELS": "64"}, channels=42), policy(), nodes(2)),
        [("environment", "node0", "fail"), ("environment", "node1", "fail")],
    ),
    *(
        Case(
            f"Muster's own {name} in every layer",
            functools.partial(own_name, name),
            [("environment", None, "fail"), ("environment", None, "fail"), ("environment", "node0", "fail")],
        )
        for name in ("RANK", "MUSTER_RUN_ID", "MASTER_ADDR", "WORLD_SIZE", "PET_NNODES")
    ),
    Case("a secret among the cluster's variables", secret, [("environment", None, "fail")]),
    Case(
        "no RDMA, and many channels, which are only a warning",
        lambda: refused(request(2, channels=65, mode="rdma"), policy(), nodes(2, gpu=NVIDIA)),
        [("rdma ports", "node0", "fail"), ("rdma ports", "node1", "fail")],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_refused(case: Case) -> None:
    assert outcomes(case.find()) == case.outcomes


def test_a_secret_is_not_shown_when_it_is_refused() -> None:
    assert "hunter2" not in str([finding.to_error() for finding in secret()])


@pytest.mark.parametrize(("grace", "timeout"), [(60, "55"), (6, "1"), (5, "1"), (1, "1")])
def test_torchruns_own_grace_ends_before_the_runners(grace: int, timeout: str) -> None:
    plan = make_plan(request(1), policy(stop_grace=grace), nodes(1))
    assert environment(plan)["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == timeout


# -- what is worth a warning -----------------------------------------------------------------------------------------


def test_an_interface_that_cannot_be_known_is_a_warning_and_sets_nothing() -> None:
    plan = make_plan(request(2), policy(head_address="head.example"), nodes(2))
    assert [(finding["node"], finding["status"], finding["check"]) for finding in plan["findings"]] == [
        ("node0", "warn", "interface"),
        ("node1", "warn", "interface"),
    ]
    assert not {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"} & set(environment(plan))
    assert plan["head"]["address"] == "head.example"


def test_warnings_do_not_stop() -> None:
    assert [finding["check"] for finding in plan_of(channels=65, facts={"gpu": NVIDIA})["findings"]] == [
        *["rdma ports"] * 2,
        *["environment"] * 2,
    ]
