# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the plan: what wins in it, what is refused, and what is only a warning."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.plan_parts import RUN_ID, node, nodes, policy, refusal, request
from ansible_collections.muster.train.tests.support.plans import NVIDIA, environment, plan_of, variable
from ansible_collections.muster.train.tests.support.rdma_parts import hca

CLUSTER = "cluster (launch_defaults)"


# -- environment -----------------------------------------------------------------------------------------------------


def test_the_run_wins_over_the_node_over_the_cluster_over_what_was_decided() -> None:
    names = ("NCCL_SOCKET_IFNAME", "A", "B", "C")
    on = [node(0, env={"B": "node", "C": "node"}), node(1)]
    layers = {"A": "cluster", "B": "cluster", "C": "cluster", "NCCL_SOCKET_IFNAME": "=eth1"}
    plan = make_plan(request(2, env={"C": "run"}), policy(env=layers), on)
    assert [variable(plan, name) for name in names] == [
        ("=eth1", "cluster (launch_env)", "instead of =eth0 from fabric"),
        ("cluster", "cluster (launch_env)", ""),
        ("node", "node (launch_node_env)", "instead of cluster from cluster (launch_env)"),
        ("run", "-e env", "instead of node from node (launch_node_env), cluster from cluster (launch_env)"),
    ]
    assert variable(plan, "B", "node1") == ("cluster", "cluster (launch_env)", "")


def test_every_layer_wins_over_what_trackers_get_by_default() -> None:
    assert variable(plan_of(), "WANDB_NAME") == (RUN_ID, "default", "name of W&B's runs")
    assert variable(plan_of(env={"WANDB_NAME": "{run_id} a"}), "WANDB_NAME") == (
        f"{RUN_ID} a",
        "cluster (launch_env)",
        f"instead of {RUN_ID} from default",
    )


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
    assert variable(plan, "A")[:2] == ("node", "node (launch_node_env)")
    assert variable(plan, "A", "node1")[:2] == ("defaults", CLUSTER)


def test_mode_tcp_disables_rdma_on_every_node_and_says_who_wanted_it() -> None:
    plan = plan_of(mode="tcp", facts={"hcas": [hca("mlx5_0")]})
    assert plan["fabric"] == {"value": "tcp", "reason": "mode=tcp (-e mode)"}
    for name in plan["nodes"]:
        assert variable(plan, "NCCL_IB_DISABLE", name)[:2] == ("1", "-e mode")


def test_contradicting_channels_are_an_error_naming_both_and_their_origins() -> None:
    [line] = refusal(request(2, env={"NCCL_MIN_NCHANNELS": "64"}, channels=42), policy(), nodes(2))
    assert (
        "node0 and node1: environment: NCCL_MIN_NCHANNELS=64 (-e env) is more than NCCL_MAX_NCHANNELS=42 (-e channels)"
        in line
    )


@pytest.mark.parametrize("name", ["RANK", "MUSTER_RUN_ID", "MASTER_ADDR", "WORLD_SIZE", "PET_NNODES"])
def test_musters_own_names_are_refused_in_every_layer(name: str) -> None:
    bad = {name: "1"}
    lines = refusal(request(2, env=bad), policy(env=bad), [node(0, env=bad), node(1)])
    assert [line.split(":")[0] for line in lines] == ["cluster", "cluster", "node0"]
    assert [
        origin in line for origin, line in zip(("launch_env", "-e env", "launch_node_env"), lines, strict=True)
    ] == [True] * 3
    assert all(f"{name} is set by Muster" in line for line in lines)


def test_a_secret_is_not_shown_when_it_is_refused() -> None:
    lines = refusal(request(2), policy(env={"HF_TOKEN": "hunter2"}), nodes(2))
    assert "launch_secrets" in lines[0]
    assert "hunter2" not in "".join(lines)


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


def test_warnings_do_not_stop_and_are_not_shown_among_errors() -> None:
    assert [finding["check"] for finding in plan_of(channels=65, facts={"gpu": NVIDIA})["findings"]] == [
        *["rdma ports"] * 2,
        *["environment"] * 2,
    ]
    lines = refusal(request(2, channels=65, mode="rdma"), policy(), nodes(2, gpu=NVIDIA))
    assert len(lines) == 1
    assert "rdma ports" in lines[0]
