# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the environment's layers: what is decided, what wins, what is refused, and that nothing is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.plugin_utils._findings.origin import (
    LAUNCH_ENV,
    LAUNCH_NODE_ENV,
    Layer,
    Origin,
)
from ansible_collections.muster.train.plugins.plugin_utils._nccl import variable_layers
from ansible_collections.muster.train.tests.support.cases import outcomes


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


REPLACED = [
    [Variable("A", "=eth0", "fabric", "route")],
    [Variable("A", "", "cluster (launch_env)", "")],
    [Variable("A", "=eth2", "-e mode", "because")],
]


def test_all_that_was_replaced_is_remembered_newest_first_beside_the_own_reason() -> None:
    [merged] = variable_layers.merge(REPLACED)
    assert (merged.value, merged.origin) == ("=eth2", "-e mode")
    places = [merged.reason.index(word) for word in ("because", "launch_env", "=eth0")]
    assert places == sorted(places)


CORES = [(8, 2, "4"), (8, 3, "2"), (2, 4, "1"), (256, 8, "16"), (16, 1, "16"), (17, 1, "16"), (1, 1, "1")]


@pytest.mark.parametrize(("cpus", "ranks", "threads"), CORES)
def test_cores_are_shared_among_the_ranks(cpus: int, ranks: int, threads: str) -> None:
    variable, _unbuffered = variable_layers.of_the_machine(cpus, ranks)
    assert (variable.name, variable.value, variable.origin) == ("OMP_NUM_THREADS", threads, "muster")


@pytest.mark.parametrize(("value", "text"), [("", ""), ("a b;$(c)", "a b;$(c)"), (1, "1"), (0, "0")])
def test_a_users_values_are_kept_to_the_letter(value: Any, text: str) -> None:
    origin = Origin(Layer.EXTRA_VARS, "-e env")
    expected = Variable("X", text, "-e env", "", layer="extra_vars")
    assert variable_layers.user_layer({"X": value}, origin, None) == ([expected], [])


REFUSED: list[tuple[str, Any]] = [
    *(("X", value) for value in (True, None, 1.5, ["a"], "a\nb", "a\0b")),
    *(("X Y", "1"), ("RANK", "0"), ("MASTER_ADDR", "a"), ("MUSTER_ANYTHING", "a")),
    ("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "9"),
]


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_what_no_rank_can_be_given_is_refused_with_its_origin(name: str, value: Any) -> None:
    layer, findings = variable_layers.user_layer({name: value, "GOOD": "1"}, LAUNCH_NODE_ENV, "node1")
    assert [variable.name for variable in layer] == ["GOOD"]
    assert outcomes(findings) == [("environment", "node1", "fail")]
    assert findings[0].source == LAUNCH_NODE_ENV.label


# A file with the line ends of Windows: NCCL reads the value with the carriage return.
INHERITED = {"NCCL_IB_DISABLE": "1\r", "NCCL_DEBUG": "INFO", "RANK": "0"}
CONF = Origin(Layer.CONF, "/etc/nccl.conf")


def test_what_is_inherited_has_its_effect_as_it_is() -> None:
    layer, findings = variable_layers.inherited_layer(INHERITED, CONF, "node1")
    assert [(item.name, item.value) for item in layer] == [("NCCL_IB_DISABLE", "1\r"), ("NCCL_DEBUG", "INFO")]
    assert outcomes(findings) == [("environment", "node1", "warn")] * 2


def test_every_bad_value_is_found() -> None:
    _layer, findings = variable_layers.user_layer({"A": True, "B": "1", "C": None}, LAUNCH_ENV, None)
    assert len(findings) == 2


NO_MAPPINGS = ("A=1", ["A"], 3, None)


@pytest.mark.parametrize("values", NO_MAPPINGS)
def test_an_environment_that_is_not_a_mapping(values: Any) -> None:
    layer, findings = variable_layers.user_layer(values, LAUNCH_ENV, None)
    assert (layer, outcomes(findings)) == ([], [("environment", None, "fail")])
