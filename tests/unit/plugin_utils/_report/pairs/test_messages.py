# SPDX-License-Identifier: GPL-3.0-or-later
"""A search among pairs as text: tests/screens/messages/pairs.txt."""

from __future__ import annotations

import dataclasses
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.pairs import FAILED, PairSample
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.rounds import Pair
from ansible_collections.muster.train.plugins.plugin_utils._plan.pairs import rows
from ansible_collections.muster.train.plugins.plugin_utils._report.pairs import text
from ansible_collections.muster.train.plugins.plugin_utils._report.pairs.outcome import PairsOutcome
from ansible_collections.muster.train.plugins.plugin_utils._text.table import aligned, table
from ansible_collections.muster.train.tests.support.pair_networks import Network
from ansible_collections.muster.train.tests.support.pair_parts import outcome, search_of
from ansible_collections.muster.train.tests.support.screens import kept, page_of


def shown(of: PairsOutcome) -> list[str]:
    lines = table(text.HEADERS, text.rows(text.shown_nodes(of), of), 100)
    return [text.title(of), "", *lines, "", *aligned(text.facts(of)), *text.finding_lines(of)]


def at_times(pair: Pair, _rail: int) -> bool:
    """Half of what node 3 measures fails."""
    return 3 in pair and sum(pair) % 2 == 0


def of_search(**changes: Any) -> PairsOutcome:
    """Healthy nodes, of which two measurements failed."""
    healthy = search_of(Network(16, 1))
    failed = [PairSample(1, 0, node, 0, FAILED, why="CUDA error: out of memory") for node in (1, 2)]
    search = dataclasses.replace(healthy, samples=[*failed, *healthy.samples], **changes)
    return outcome(Network(16, 1), search=search)


def planned(nodes: int, backend: str, rounds: int) -> list[str]:
    settings = {"rounds": {"value": rounds}, "pair_limit": {"value": 30}, "backend": {"value": backend}}
    return ["  ".join(row) for row in rows({"parameters": settings, "nnodes": nodes})]


def test_what_is_said_of_pairs() -> None:
    stalled = frozenset([(1,)])
    pages = [
        ("healthy", shown(outcome(Network(3, 1)))),
        ("a slow node", shown(outcome(Network(3, 1, bandwidth={(1,): 4.0}, latency={(1,): 3.0})))),
        ("lost packets", shown(outcome(Network(3, 1, resent={(1,): 0.02})))[-2:]),
        ("a broken node", shown(outcome(Network(4, 1, stalled=stalled)))),
        ("a slow link", shown(outcome(Network(3, 1, latency={(0, 2): 5.0})))[-2:]),
        ("a slow rail", shown(outcome(Network(16, 1, rails=8, rail_places={(3, 5): 2.0})))[-2:]),
        ("two nodes", shown(outcome(Network(2, 1)))[-1:]),
        ("many nodes", shown(outcome(Network(256, 1, bandwidth={(n,): 2.0 for n in range(0, 40, 4)})))),
        ("a rail of all nodes", shown(outcome(Network(16, 1, rails=8, fails=lambda _pair, rail: rail == 5)))[-4:]),
        ("a node that fails at times", shown(outcome(Network(16, 1, fails=at_times)))[-4:]),
        ("groups", shown(outcome(Network(8, 1, fails=lambda pair, _rail: pair[0] // 4 != pair[1] // 4)))[-4:]),
        ("nothing works", shown(outcome(Network(20, 1, fails=lambda _pair, _rail: True)))[-4:]),
        ("failures without a cause", shown(of_search(unnamed=2, unmeasured=3))[-6:]),
        ("a failure that was one", shown(of_search())[-2:]),
        ("the plan of three nodes", planned(3, "gloo", 12)),
        ("the plan of a thousand", planned(1000, "nccl", 8)),
    ]
    assert page_of(pages) == kept("messages/pairs.txt", page_of(pages))
