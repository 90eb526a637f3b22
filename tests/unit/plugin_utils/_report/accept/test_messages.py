# SPDX-License-Identifier: GPL-3.0-or-later
"""An acceptance as text: tests/screens/messages/accept.txt."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.muster.train.plugins.plugin_utils._report.accept import text
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.acceptance import Acceptance
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.changes import changes_between
from ansible_collections.muster.train.plugins.plugin_utils._report.accept.profile import StageThreshold, read_profile
from ansible_collections.muster.train.plugins.plugin_utils._text.table import table
from ansible_collections.muster.train.tests.support.accept_parts import SLOW, SOURCE, acceptance, documents, refused
from ansible_collections.muster.train.tests.support.benchmark_parts import benchmark
from ansible_collections.muster.train.tests.support.pair_networks import Network
from ansible_collections.muster.train.tests.support.pair_parts import outcome
from ansible_collections.muster.train.tests.support.screens import errors, kept, page_of


def shown(known: Acceptance) -> list[str]:
    stages = [replace(stage, elapsed_s=62.4) for stage in known.stages]
    lines = [*table(text.HEADERS, text.rows(stages), 100), "", text.conclusion(known)]
    return [*lines, *(text.remedy(stage) for stage in known.stages if stage.applies and stage.verdict != "pass")]


def compared(now: Acceptance) -> list[str]:
    before = acceptance(accept_id="accept_20261020_143052")
    known = replace(now, against=before.accept_id, changes=changes_between(before, now))
    return [text.since(known), *table(text.CHANGE_HEADERS, text.change_rows(known.changes), 100)]


def test_what_is_said_of_an_acceptance() -> None:
    failing = documents(rails=refused("disks", "/ is full"), pairs={"pairs": outcome(SLOW).to_dict()})
    wrong = documents(
        intra={"benchmark": benchmark(wrong=3).to_dict()},
        rails=refused("scope", "rails makes groups of one rank on 1 node with 8 ranks per node"),
        pairs={"pairs": outcome(Network(2, 1)).to_dict()},
    )
    fewer, fallen_back = documents(), documents()["all"]
    for stage in ("intra", "all"):
        fewer[stage]["benchmark"]["nnodes"] = 1
    limitless = documents()["rails"]
    limitless["benchmark"]["limit"].update(gb_per_s=None, reason="eth0 does not tell its rate")
    fallen_back["transport"] = {"verdict": "fail", "text": "not as planned: node1: Socket, expected IB"}
    strict = {"all": StageThreshold(SOURCE, 440.0, 0.95), "rails": StageThreshold(SOURCE, None, 0.8)}
    refused_values = [
        [],
        {"rail": {}},
        {"all": {"busbw": 3}},
        {"all": {"busbw_gb_per_s": -1, "of_limit": 80, "max_bytes": "8T", "source": "x"}},
    ]
    pages = [
        ("all passed", shown(acceptance())),
        ("no profile", shown(acceptance(thresholds={}))),
        ("less than is expected", shown(acceptance(thresholds=strict))),
        ("a refusal and a slow node", shown(acceptance(failing))),
        ("wrong results, and stages that do not apply", shown(acceptance(wrong))),
        ("fewer nodes than were checked", [text.conclusion(acceptance(fewer))]),
        ("another fabric than that of the plan", shown(acceptance(documents(all=fallen_back)))),
        ("a limit that is not known", shown(acceptance(documents(rails=limitless)))),
        ("interrupted", [text.conclusion(acceptance(is_complete=False))]),
        ("the end of a stage", [text.ended_line(replace(acceptance().stages[1], elapsed_s=62.4))]),
        ("no earlier one", [text.since(acceptance())]),
        ("since the last one", compared(acceptance(failing))),
        ("a profile that is refused", [*errors(read_profile, refused_values)]),
    ]
    assert page_of(pages) == kept("messages/accept.txt", page_of(pages))
