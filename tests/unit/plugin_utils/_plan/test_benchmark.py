# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a benchmark: what its ranks run, and what is refused before any of them starts."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Device
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._plan.benchmark import SUBSETS, needed_bytes, sizes_of
from ansible_collections.muster.train.plugins.plugin_utils._plan.facts import POLICY, facts_options
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.benchmark_parts import asked
from ansible_collections.muster.train.tests.support.plan_parts import (
    nodes,
    policy,
    refused,
    request,
)
from ansible_collections.muster.train.tests.support.sources import document

GIB = 1 << 30
GPUS = {"vendor": "nvidia", "count": 8, "devices": [Device(index, memory_mib=81559).to_dict() for index in range(8)]}


def stopping(parameters: dict[str, Any], of_nodes: dict[str, Any]) -> list[Finding]:
    """What keeps a benchmark from starting on nodes with these facts."""
    wanted = asked(parameters.get("nnodes", 2), **parameters)
    return [item for item in refused(wanted, policy(), nodes(len(wanted["nodes"]), **of_nodes)) if item.stops]


def argv(plan: dict[str, Any], node: str = "node0") -> list[str]:
    command: list[str] = plan["jobs"][node]["argv"]
    return command[next(index for index, word in enumerate(command) if word.endswith("/collectives.py")) :]


def test_the_sizes_are_those_of_nccl_tests() -> None:
    assert sizes_of(8, 64, 2) == [8, 16, 32, 64]
    assert sizes_of(8, 100, 4) == [8, 32]
    assert len(sizes_of(8, 8 * GIB, 2)) == 31


def test_the_ranks_run_the_program_that_the_runner_brings() -> None:
    plan = make_plan(asked(collective="all_to_all", max_bytes=64, factor=8), policy(), nodes(2))
    run_dir = plan["jobs"]["node0"]["run_dir"]
    assert argv(plan) == [
        f"{run_dir}/collectives.py",
        *("--collective", "all_to_all", "--scope", "all", "--backend", "gloo", "--dtype", "float32"),
        *("--warmup", "5", "--iterations", "20", "--check", "1", "--output", f"{run_dir}/outputs", "8", "64"),
    ]
    assert argv(plan, "node1")[0] == f"{plan['jobs']['node1']['run_dir']}/collectives.py"
    assert plan["jobs"]["node0"]["metrics_pattern"]


def test_gpus_choose_nccl_and_a_larger_size() -> None:
    plan = make_plan(asked(), policy(), nodes(2, gpu=GPUS))
    values = {name: plan["parameters"][name]["value"] for name in ("backend", "max_bytes")}
    assert values == {"backend": "nccl", "max_bytes": GIB}
    assert argv(plan)[-1] == str(GIB)
    without = make_plan(asked(), policy(), nodes(2))
    assert argv(without)[-1] == str(16 << 20)
    assert argv(make_plan(asked(min_bytes=GIB), policy(), nodes(2)))[-1] == str(GIB)


def test_a_launch_asks_its_nodes_for_no_more_than_before() -> None:
    defaults = document("roles/launch/defaults/main.yml")
    of_policy = {name: defaults[name] for name in POLICY}

    def subset(of: dict[str, Any]) -> list[str]:
        values = {name: setting["value"] for name, setting in of["parameters"].items()}
        options = facts_options("node0", values, of_policy)
        assert options["files"] == ([] if of["verb"] == "benchmark" else ["train.py"])
        return list(options["subset"])

    assert subset(asked()) == [*subset(request()), *SUBSETS]


@pytest.mark.parametrize(
    ("collective", "size"),
    [
        ("all_reduce", 8),
        ("broadcast", 8),
        ("all_gather", 10),
        ("reduce_scatter", 10),
        ("all_to_all", 16),
        ("send_recv", 16),
    ],
)
def test_what_the_buffers_of_a_rank_take(collective: str, size: int) -> None:
    values = {"collective": collective, "max_bytes": 8 * GIB}
    assert needed_bytes(values, 4) - GIB == size * GIB


REFUSED: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({"collective": "broadcast", "nnodes": 1}, {}, ["scope"]),
    ({"scope": "nodes"}, {}, ["scope"]),
    ({"scope": "rails", "nnodes": 1}, {"gpu": GPUS}, ["scope"]),
    ({"backend": "nccl"}, {}, ["backend", "backend"]),
    ({"max_bytes": 64 * GIB, "collective": "send_recv"}, {"gpu": GPUS}, ["max_bytes", "max_bytes"]),
    ({"max_bytes": 8 * GIB, "nproc": 4}, {"memory": {"available_bytes": 32 * GIB}}, ["max_bytes", "max_bytes"]),
]


@pytest.mark.parametrize(("parameters", "of_nodes", "checks"), REFUSED)
def test_what_is_refused(parameters: dict[str, Any], of_nodes: dict[str, Any], checks: list[str]) -> None:
    assert [finding.check for finding in stopping(parameters, of_nodes)] == checks


def test_what_fits_is_not_refused() -> None:
    assert make_plan(asked(max_bytes=64 * GIB), policy(), nodes(2, gpu=GPUS))["world_size"] == 16
    enough = {"available_bytes": 36 * GIB}
    assert make_plan(asked(max_bytes=8 * GIB, nproc=4), policy(), nodes(2, memory=enough))["world_size"] == 8
