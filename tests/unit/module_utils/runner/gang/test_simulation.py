# SPDX-License-Identifier: GPL-3.0-or-later
"""Real runners' supervisors and gangs in a simulated world (tests/simulation): some histories, and some by chance."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from ansible_collections.muster.train.tests.simulation.attempt import Part
from ansible_collections.muster.train.tests.simulation.checks import violations
from ansible_collections.muster.train.tests.simulation.history import History
from ansible_collections.muster.train.tests.simulation.scenario import NEVER, Fault, Scenario, make_scenario, shrink

HISTORIES, BLOCK = 200, 25


def run(
    *faults: Fault,
    starts: tuple[float, ...] = (0.0,) * 4,
    parts: Mapping[tuple[int, int], Part] = MappingProxyType({}),
    **changes: Any,
) -> History:
    """The history of a gang in which all goes well but for these faults and parts (of a node in an attempt)."""
    usual = {(number, attempt): Part(20.0) for number in range(len(starts)) for attempt in range(2)}
    history = History(Scenario({**usual, **parts}, starts, faults, **changes), is_traced=True).run()
    assert violations(history) == [], "\n".join(history.world.lines)
    return history


def ends(history: History) -> list[str | None]:
    """The verdict of each node."""
    return [(node.document.get("end") or {}).get("verdict") for node in history.nodes]


def held(history: History) -> list[tuple[int, int, int]]:
    """Which node held which node rank in which attempt, in order."""
    claims = sorted((claim for node in history.nodes for claim in node.claims), key=lambda claim: claim.attempt)
    return [(claim.node, claim.rank, claim.attempt) for claim in claims]


@pytest.mark.parametrize("first", range(0, HISTORIES, BLOCK))
def test_histories(first: int) -> None:
    for seed in range(first, first + BLOCK):
        scenario = make_scenario(seed)
        wrong = violations(History(scenario).run())
        if wrong:
            scenario = shrink(scenario, lambda smaller: bool(violations(History(smaller).run())))
        assert wrong == [], f"python tests/simulation/suite.py --seed {seed}\n{scenario}"


def test_the_same_seed_is_the_same_history() -> None:
    first, second = (History(make_scenario(7), is_traced=True).run().world.lines for _count in range(2))
    assert first == second
    assert any("starts node rank" in line for line in first)


def test_without_a_fault_all_start_and_succeed() -> None:
    history = run()
    assert ends(history) == ["succeeded"] * 4
    assert held(history) == [(0, 0, 0), (1, 1, 0), (2, 2, 0)]


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param([Fault("freeze", 1, 0.0, "go", 40.0)], id="frozen"),
        pytest.param([Fault("suspend", 1, 0.0, "go", 40.0)], id="frozen, with its clock"),
        pytest.param([Fault("cut", 1, 0.0, "go", 20.0)], id="cut off"),
        pytest.param(
            [Fault("freeze", 1, 0.0, "go", 40.0), Fault("cut", 1, 1.0, "go", 80.0)], id="frozen, then cut off"
        ),
    ],
)
def test_a_node_that_reads_its_order_to_start_when_it_is_given_up_does_not_start(faults: list[Fault]) -> None:
    for seed in range(8):  # in some of them the storage answers at once
        history = run(*faults, seed=seed)
        assert held(history) == [(0, 0, 0), (2, 2, 0), (0, 0, 1), (2, 2, 1), (3, 1, 1)]
        assert ends(history) == ["succeeded", "lost", "succeeded", "succeeded"]


def test_a_node_whose_clock_stood_still_does_not_start_where_the_end_of_its_connection_travels() -> None:
    faults = Fault("suspend", 1, 0.0, "go", 40.0), Fault("deafen", 1, 0.0, "go", 41.0)
    for seed in range(8):
        assert 1 not in {node for node, _rank, _attempt in held(run(*faults, seed=seed))}


def test_a_node_that_the_head_still_hears_starts_when_its_order_has_come() -> None:
    history = run(Fault("deafen", 1, 0.0, "go", 20.0))
    assert held(history) == [(0, 0, 0), (1, 1, 0), (2, 2, 0)]
    assert ends(history) == ["succeeded"] * 4


def test_a_node_that_pauses_for_less_than_the_limit_starts() -> None:
    history = run(Fault("freeze", 1, 0.0, "go", 3.0))
    assert held(history) == [(0, 0, 0), (1, 1, 0), (2, 2, 0)]


def test_a_head_that_pauses_as_the_last_node_joins_starts_all() -> None:
    """What it says first then is older than the limit for the nodes that have waited."""
    faults = Fault("freeze", 2, 0.07, "", 3.95), Fault("freeze", 0, 4.09, "", 11.5)
    for seed in range(8):
        history = run(*faults, starts=(0.0, 0.5, 0.0, 0.5), lost_after=12, latency=(0.05, 0.05), seed=seed)
        assert held(history) == [(0, 0, 0), (1, 1, 0), (2, 2, 0)]
        assert ends(history) == ["succeeded"] * 4


def test_ranks_that_run_outlast_a_pause_of_their_node() -> None:
    history = run(Fault("freeze", 1, 5.0, "go", 3.0))
    assert ends(history) == ["succeeded"] * 4


def test_a_node_that_was_cut_off_for_less_than_the_limit_is_kept_while_tcp_is_still_silent() -> None:
    for seed in range(8):
        history = run(Fault("cut", 1, 5.0, "go", 3.2), seed=seed)
        assert ends(history) == ["succeeded"] * 4
        assert history.losses == {}


def test_a_node_that_hears_the_end_late_for_such_a_cut_knows_it() -> None:
    for seed in range(8):
        assert ends(run(Fault("mute", 0, 0.0, "end", 3.2), seed=seed)) == ["succeeded"] * 4


@pytest.mark.parametrize("pauses", [[], [Fault("freeze", 1, 5.0, "go", 2.6)], [Fault("freeze", 1, 5.0, "go", 3.5)]])
def test_a_spare_starts_when_the_ranks_of_a_node_that_is_cut_off_have_been_killed(pauses: list[Fault]) -> None:
    history = run(*pauses, Fault("cut", 1, 5.1, "go", NEVER), parts={(1, 0): Part(60.0, resists_s=60.0)})
    assert held(history)[-1] == (3, 1, 1)


def test_a_spare_that_comes_after_the_end_knows_nothing_about_the_run() -> None:
    history = run(starts=(0.0, 0.0, 0.0, 50.0))
    assert ends(history) == ["succeeded", "succeeded", "succeeded", None]
    assert history.nodes[3].document["phase"] == "stopped"


def test_a_node_that_is_cut_off_while_the_end_travels_contradicts_nobody() -> None:
    history = run(Fault("cut", 1, 0.0, "end", NEVER))
    assert ends(history) == ["succeeded", None, "succeeded", "succeeded"]
    assert history.nodes[1].document["phase"] == "succeeded"


def test_a_stop_that_not_all_nodes_answer_ends_the_run_for_all() -> None:
    parts = {(1, 0): Part(5.0, code=1), (2, 0): Part(20.0, survives=True)}
    history = run(Fault("stop", 0, 6.0), parts=parts)
    assert ends(history) == ["failed"] * 4


def test_a_rank_that_is_held_twice_is_found() -> None:
    """A check that cannot fail is none."""
    history = run(Fault("kill", 1, 5.0, "go"))
    claim = history.nodes[1].claims[0]
    claim.until, claim.is_orphaned = claim.since + 100.0, False
    assert ["n1 and n3 hold node rank 1" in text for text in violations(history)] == [True]


def test_a_failing_scenario_keeps_only_the_faults_that_it_needs() -> None:
    scenario = dataclasses.replace(make_scenario(1), faults=tuple(Fault("kill", node, 1.0) for node in range(4)))
    smaller = shrink(scenario, lambda tried: any(fault.node == 2 for fault in tried.faults))
    assert [fault.node for fault in smaller.faults] == [2]
