# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the environment's layers: what is decided, what wins, what is refused, and that nothing is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import line
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import (
    LAUNCH_ENV,
    LAUNCH_NODE_ENV,
    Layer,
    Origin,
)
from ansible_collections.muster.train.plugins.plugin_utils._nccl import variable_layers

CLUSTER = "cluster (launch_defaults)"


def values(variables: list[Variable]) -> dict[str, tuple[str, str]]:
    return {variable.name: (variable.value, variable.origin) for variable in variables}


def test_later_layers_win_and_the_order_is_that_of_the_names() -> None:
    first = [Variable("B", "1", "muster", "counted"), Variable("A", "1", "muster", "")]
    second = [Variable("B", "2", "-e env", ""), Variable("C", "", "-e env", "")]
    assert variable_layers.merge([first, second]) == [
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
    [merged] = variable_layers.merge(layers)
    assert merged == Variable(
        "A", "=eth2", "-e mode", "because; instead of nothing from cluster (launch_env), =eth0 from fabric"
    )


@pytest.mark.parametrize(
    ("cpus", "ranks", "threads"),
    [(8, 2, "4"), (8, 3, "2"), (2, 4, "1"), (256, 8, "16"), (16, 1, "16"), (17, 1, "16"), (1, 1, "1")],
)
def test_cores_are_shared_among_the_ranks(cpus: int, ranks: int, threads: str) -> None:
    variable, _unbuffered = variable_layers.of_the_machine(cpus, ranks)
    assert (variable.name, variable.value, variable.origin) == ("OMP_NUM_THREADS", threads, "muster")
    assert variable.reason.startswith(f"{cpus} cores for {ranks} rank")


@pytest.mark.parametrize(("value", "text"), [("", ""), ("a b;$(c)", "a b;$(c)"), (1, "1"), (0, "0")])
def test_a_users_values_are_kept_to_the_letter(value: Any, text: str) -> None:
    origin = Origin(Layer.EXTRA_VARS, "-e env")
    expected = Variable("X", text, "-e env", "", layer="extra_vars")
    assert variable_layers.user_layer({"X": value}, origin, None) == ([expected], [])


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        ({"X": True}, "X: expected a string (in quotes)"),
        ({"X": None}, "X: expected a string (in quotes)"),
        ({"X": 1.5}, "X: expected a string (in quotes)"),
        ({"X": ["a"]}, "X: expected a string (in quotes)"),
        ({"X": "a\nb"}, "X: expected a string (in quotes)"),
        ({"X": "a\0b"}, "X: expected a string (in quotes)"),
        ({"X Y": "1"}, "'X Y' is not a valid environment variable name"),
        ({"RANK": "0"}, "RANK is set by Muster"),
        ({"MASTER_ADDR": "a"}, "MASTER_ADDR is set by Muster"),
        ({"MUSTER_ANYTHING": "a"}, "MUSTER_ANYTHING is set by Muster"),
        ({"TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "9"}, "TORCH_ELASTIC_SHUTDOWN_TIMEOUT is set by Muster"),
    ],
)
def test_what_no_rank_can_be_given_is_refused_with_its_origin(bad: dict[str, Any], part: str) -> None:
    layer, findings = variable_layers.user_layer({**bad, "GOOD": "1"}, LAUNCH_NODE_ENV, "node1")
    assert [variable.name for variable in layer] == ["GOOD"]
    assert [finding.status for finding in findings] == ["fail"]
    assert line(findings[0]).startswith(f"node1: environment: {part}")
    assert "(node (launch_node_env))" in line(findings[0])


def test_what_is_inherited_has_its_effect_as_it_is() -> None:
    """A file with the line ends of Windows: NCCL reads the value with the carriage return."""
    values = {"NCCL_IB_DISABLE": "1\r", "NCCL_DEBUG": "INFO", "RANK": "0"}
    layer, findings = variable_layers.inherited_layer(values, Origin(Layer.CONF, "/etc/nccl.conf"), "node1")
    assert [(item.name, item.value) for item in layer] == [("NCCL_IB_DISABLE", "1\r"), ("NCCL_DEBUG", "INFO")]
    assert [finding.status for finding in findings] == ["warn", "warn"]
    assert line(findings[0]).startswith("node1: environment: RANK is set by Muster")
    assert line(findings[1]).startswith(
        "node1: environment: NCCL_IB_DISABLE is '1\\r'; expected no control characters, such as the"
    )


def test_every_bad_value_is_found() -> None:
    _layer, findings = variable_layers.user_layer({"A": True, "B": "1", "C": None}, LAUNCH_ENV, None)
    assert len(findings) == 2


@pytest.mark.parametrize("values", ["A=1", ["A"], 3, None])
def test_an_environment_that_is_not_a_mapping(values: Any) -> None:
    layer, findings = variable_layers.user_layer(values, LAUNCH_ENV, None)
    assert layer == []
    assert f"expected a mapping of names to values, saw {type(values).__name__}" in line(findings[0])
