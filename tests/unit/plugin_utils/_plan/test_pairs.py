# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of `pairs`: its rounds, what its ranks run, and what is refused before any of them starts."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._plan import pairs
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.tests.support.pair_parts import asked
from ansible_collections.muster.train.tests.support.plan_parts import nodes, policy, refused

GPUS = {"vendor": "nvidia", "count": 8, "devices": []}


def argv(plan: dict[str, Any]) -> list[str]:
    command: list[str] = plan["jobs"]["node0"]["argv"]
    return command[next(index for index, word in enumerate(command) if word.endswith("/pairs.py")) :]


@pytest.mark.parametrize(
    ("count", "measured", "rounds"), [(2, 8, 8), (3, 8, 12), (4, 8, 8), (255, 8, 9), (1000, 8, 8), (65536, 12, 12)]
)
def test_the_rounds_of_so_many_nodes(count: int, measured: int, rounds: int) -> None:
    assert (pairs.measurements(count), pairs.rounds_of(count)) == (measured, rounds)


def test_how_often_noise_makes_a_suspect() -> None:
    source = random.Random(1)
    rolls = 100_000
    # Of four measurements the second smallest counts: three have to be slow.
    slow = sum(sum(source.random() < pairs.NOISY for _turn in range(4)) >= 3 for _roll in range(rolls))
    assert pairs.false_suspect(4) == pytest.approx(slow / rolls, rel=0.1)


def test_the_ranks_run_the_program_that_the_runner_brings() -> None:
    plan = make_plan(asked(), policy(), nodes(3))
    run_dir = plan["jobs"]["node0"]["run_dir"]
    assert argv(plan) == [
        f"{run_dir}/pairs.py",
        *("--backend", "gloo", "--rounds", "12", "--bytes", str(4 << 20), "--tolerance", "20", "--pair_limit", "30"),
        *("--output", f"{run_dir}/outputs"),
    ]
    assert plan["jobs"]["node0"]["metrics_pattern"].startswith("round ")


def test_what_is_given_is_taken() -> None:
    plan = make_plan(asked(rounds=5, bytes=1 << 20, tolerance=50, pair_limit=60), policy(), nodes(3))
    assert argv(plan)[3:11] == ["--rounds", "5", "--bytes", str(1 << 20), "--tolerance", "50", "--pair_limit", "60"]


def test_gpus_choose_nccl_and_a_larger_size() -> None:
    words = argv(make_plan(asked(), policy(), nodes(3, gpu=GPUS)))
    assert (words[2], words[6]) == ("nccl", str(256 << 20))


def test_what_is_shown_of_a_thousand_nodes() -> None:
    settings = {name: {"value": value} for name, value in (("rounds", 8), ("pair_limit", 30), ("backend", "nccl"))}
    shown = pairs.rows({"parameters": settings, "nnodes": 1000})
    assert [(name, value) for name, value, _reason in shown] == [
        ("rounds", "8, each of 500 pairs, then at most 24 for suspects"),
        ("time", "about 48 s, at most 16 min"),
    ]


def stopping(count: int, parameters: dict[str, Any], of_nodes: dict[str, Any]) -> list[Finding]:
    """What keeps pairs from being measured on nodes with these facts."""
    return [item for item in refused(asked(count, **parameters), policy(), nodes(count, **of_nodes)) if item.stops]


REFUSED: list[tuple[int, dict[str, Any], dict[str, Any], list[str]]] = [
    (1, {}, {}, ["nodes"]),
    (2, {"backend": "nccl", "nproc": 16}, {"gpu": GPUS}, ["backend", "backend"]),
]


@pytest.mark.parametrize(("count", "parameters", "of_nodes", "checks"), REFUSED)
def test_what_is_refused(count: int, parameters: dict[str, Any], of_nodes: dict[str, Any], checks: list[str]) -> None:
    assert [finding.check for finding in stopping(count, parameters, of_nodes)] == checks
