# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the environment's layers: what is decided, what wins, what is refused, and that nothing is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records import Variable
from ansible_collections.muster.train.plugins.plugin_utils import _environment
from ansible_collections.muster.train.plugins.plugin_utils._findings import line
from ansible_collections.muster.train.plugins.plugin_utils._head import Interface
from ansible_collections.muster.train.tests.unit.plan_parts import given, settings

CLUSTER = "cluster (launch_defaults)"


def values(variables: list[Variable]) -> dict[str, tuple[str, str]]:
    return {variable.name: (variable.value, variable.origin) for variable in variables}


def test_later_layers_win_and_the_order_is_that_of_the_names() -> None:
    first = [Variable("B", "1", "muster", "counted"), Variable("A", "1", "muster", "")]
    second = [Variable("B", "2", "-e env", ""), Variable("C", "", "-e env", "")]
    assert _environment.merge([first, second]) == [
        Variable("A", "1", "muster", ""),
        Variable("B", "2", "-e env", "instead of 1 from muster"),
        Variable("C", "", "-e env", ""),
    ]


def test_all_that_was_replaced_is_remembered_newest_first_beside_the_own_reason() -> None:
    layers = [
        [Variable("A", value, origin, reason)]
        for value, origin, reason in (
            ("=eth0", "fabric", "route"),
            ("", "cluster (launch_env)", ""),
            ("=eth2", "-e mode", "because"),
        )
    ]
    [merged] = _environment.merge(layers)
    assert merged == Variable(
        "A", "=eth2", "-e mode", "because; instead of nothing from cluster (launch_env), =eth0 from fabric"
    )


@pytest.mark.parametrize(
    ("cpus", "ranks", "threads"),
    [(8, 2, "4"), (8, 3, "2"), (2, 4, "1"), (256, 8, "16"), (16, 1, "16"), (17, 1, "16"), (1, 1, "1")],
)
def test_cores_are_shared_among_the_ranks(cpus: int, ranks: int, threads: str) -> None:
    variable, _unbuffered = _environment.of_the_machine(cpus, ranks)
    assert (variable.name, variable.value, variable.origin) == ("OMP_NUM_THREADS", threads, "muster")
    assert variable.reason.startswith(f"{cpus} cores for {ranks} rank")


def test_the_interface_is_exact_in_either_librarys_syntax() -> None:
    assert _environment.sockets(Interface("eth0", "route 10.0.0.0/16")) == [
        Variable("NCCL_SOCKET_IFNAME", "=eth0", "fabric", f"route 10.0.0.0/16; {_environment.EXACTLY}"),
        Variable("GLOO_SOCKET_IFNAME", "eth0", "fabric", "route 10.0.0.0/16"),
    ]


def test_an_unknown_interface_sets_nothing() -> None:
    assert _environment.sockets(None) == []


@pytest.mark.parametrize("vendor", [None, "nvidia", "amd"])
def test_parameters_that_are_not_set_decide_nothing(vendor: str | None) -> None:
    assert _environment.from_parameters(settings(), vendor) == []


@pytest.mark.parametrize("origin", ["-e channels", "environment CHANNELS", CLUSTER])
def test_channels_are_the_least_and_the_most(origin: str) -> None:
    layer = _environment.from_parameters(settings(channels={"value": 42, "origin": origin}), "nvidia")
    assert values(layer) == {"NCCL_MIN_NCHANNELS": ("42", origin), "NCCL_MAX_NCHANNELS": ("42", origin)}


@pytest.mark.parametrize(
    ("vendor", "names"),
    [(None, {"NCCL_NTHREADS"}), ("nvidia", {"NCCL_NTHREADS"}), ("amd", {"NCCL_NTHREADS", "RCCL_THREADS_PER_BLOCK"})],
)
def test_threads(vendor: str | None, names: set[str]) -> None:
    layer = _environment.from_parameters(settings(threads=256), vendor)
    assert values(layer) == dict.fromkeys(names, ("256", "-e threads"))


@pytest.mark.parametrize(
    ("mode", "layer"), [("auto", {}), ("rdma", {}), ("tcp", {"NCCL_IB_DISABLE": ("1", "-e mode")})]
)
def test_only_mode_tcp_disables_rdma(mode: str, layer: dict[str, tuple[str, str]]) -> None:
    assert values(_environment.from_parameters(settings(mode=mode), "nvidia")) == layer


@pytest.mark.parametrize(
    ("origin", "of_the_run"),
    [("-e channels", True), ("environment CHANNELS", True), (CLUSTER, False), ("default", False)],
)
def test_split(origin: str, of_the_run: bool) -> None:
    variable = Variable("A", "1", origin, "")
    assert _environment.split([variable]) == (([], [variable]) if of_the_run else ([variable], []))


@pytest.mark.parametrize(
    ("name", "value", "vendor", "warned"),
    [
        ("channels", 64, "nvidia", False),
        ("channels", 65, "nvidia", True),
        ("channels", 128, "amd", False),
        ("threads", 512, "nvidia", False),
        ("threads", 256, "amd", False),
        ("threads", 320, "amd", True),
        ("channels", 128, None, False),
    ],
)
def test_numbers_that_a_library_cuts_down(name: str, value: int, vendor: str | None, warned: bool) -> None:
    findings = _environment.beyond_the_library(settings(**{name: value}), vendor, "node0")
    assert [(finding.node, finding.status, finding.check) for finding in findings] == [("node0", "warn", name)] * warned


@pytest.mark.parametrize(("value", "text"), [("", ""), ("a b;$(c)", "a b;$(c)"), (1, "1"), (0, "0")])
def test_a_users_values_are_kept_to_the_letter(value: Any, text: str) -> None:
    assert _environment.user_layer({"X": value}, "-e env", None) == ([Variable("X", text, "-e env", "")], [])


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        ({"X": True}, "X: expected a string (in quotes)"),
        ({"X": None}, "X: expected a string (in quotes)"),
        ({"X": 1.5}, "X: expected a string (in quotes)"),
        ({"X": ["a"]}, "X: expected a string (in quotes)"),
        ({"X": "a\nb"}, "X: expected a string (in quotes)"),
        ({"X": "a\0b"}, "X: expected a string (in quotes)"),
        ({"X Y": "1"}, "'X Y' is no name of an environment variable"),
        ({"RANK": "0"}, "RANK is set by Muster"),
        ({"MASTER_ADDR": "a"}, "MASTER_ADDR is set by Muster"),
        ({"MUSTER_ANYTHING": "a"}, "MUSTER_ANYTHING is set by Muster"),
        ({"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "9"}, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT is set by Muster"),
    ],
)
def test_what_no_rank_can_be_given_is_refused_with_its_origin(bad: dict[str, Any], part: str) -> None:
    layer, findings = _environment.user_layer({**bad, "GOOD": "1"}, "node (launch_node_env)", "node1")
    assert [variable.name for variable in layer] == ["GOOD"]
    assert [finding.status for finding in findings] == ["fail"]
    assert line(findings[0]).startswith(f"node1: environment: {part}")
    assert "(node (launch_node_env))" in line(findings[0])


def test_every_bad_value_is_found() -> None:
    _layer, findings = _environment.user_layer({"A": True, "B": "1", "C": None}, "cluster (launch_env)", None)
    assert len(findings) == 2


@pytest.mark.parametrize("values", ["A=1", ["A"], 3, None])
def test_an_environment_that_is_no_mapping(values: Any) -> None:
    layer, findings = _environment.user_layer(values, "cluster (launch_env)", None)
    assert layer == []
    assert f"expected a mapping of names to values, saw {type(values).__name__}" in line(findings[0])


def variables(**values: str) -> list[Variable]:
    return [Variable(name, value, f"from {name}", "") for name, value in values.items()]


@pytest.mark.parametrize(
    "fine",
    [
        {},
        {"NCCL_MIN_NCHANNELS": "8"},
        {"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": "8"},
        {"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": "16"},
        {"NCCL_MIN_NCHANNELS": "9", "NCCL_MAX_NCHANNELS": "10"},
        {"NCCL_MIN_NCHANNELS": "many", "NCCL_MAX_NCHANNELS": "2"},
        {"NCCL_IB_DISABLE": "1"},
    ],
)
def test_no_contradiction(fine: dict[str, str]) -> None:
    assert _environment.contradictions(variables(**fine), "node0", given("auto", "mode")) == []


def test_more_at_least_than_at_most_names_both_and_their_origins() -> None:
    both = variables(NCCL_MIN_NCHANNELS="16", NCCL_MAX_NCHANNELS="8")
    [finding] = _environment.contradictions(both, "node0", given("auto", "mode"))
    assert finding.status == "fail"
    assert line(finding).startswith(
        "node0: environment: NCCL_MIN_NCHANNELS=16 (from NCCL_MIN_NCHANNELS) is more than "
        "NCCL_MAX_NCHANNELS=8 (from NCCL_MAX_NCHANNELS); expected"
    )


@pytest.mark.parametrize(("value", "stops"), [("1", True), ("0", False), ("", False)])
def test_rdma_asked_for_and_disabled(value: str, stops: bool) -> None:
    findings = _environment.contradictions(variables(NCCL_IB_DISABLE=value), "node0", given("rdma", "mode"))
    assert [finding.status for finding in findings] == ["fail"] * stops
