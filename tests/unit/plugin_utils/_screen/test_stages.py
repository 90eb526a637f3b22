# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the lines of stages and of what happened on hosts."""

from __future__ import annotations

from collections import Counter

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._screen.results import TaskLog, message_lines, recap
from ansible_collections.muster.train.plugins.plugin_utils._screen.stages import (
    STAGES,
    lasted,
    stage_line,
    task_title,
)

NODES = [f"n{number:03d}" for number in range(1, 129)]
GATHERED = STAGES["muster.train.node_facts"].done


def test_a_stage_has_its_nodes_and_its_time() -> None:
    assert stage_line(GATHERED, NODES, {"failed": []}, 4.06) == "gathered 128 nodes in 4.1 s"
    assert stage_line(GATHERED, ["n1"], {}, 12.4) == "gathered n1 in 12 s"
    assert stage_line(GATHERED, [], {"unreachable": ["n1"]}, 12.4) == "gathered 0 of 1 node in 12 s: n1 unreachable"


def test_a_stage_names_the_nodes_that_are_missing() -> None:
    missing = {"unreachable": ["n007", "n009"], "failed": ["n010"]}
    line = stage_line(GATHERED, [node for node in NODES if node not in ("n007", "n009", "n010")], missing, 64.2)
    assert line == "gathered 125 of 128 nodes in 1 min 4 s: n007 and n009 unreachable, n010 failed"


@pytest.mark.parametrize(
    ("is_changed", "is_checked", "text"),
    [
        (True, False, "asked {} to stop"),
        (False, False, "found nothing to stop on {}"),
        (True, True, "looked for what to stop on {}"),
        (False, True, "looked for what to stop on {}"),
    ],
)
def test_a_stage_says_what_was_done_and_not_what_would_be(is_changed: bool, is_checked: bool, text: str) -> None:
    assert STAGES["muster.train.run_stop"].text(is_changed, is_checked) == text
    assert STAGES["launch.withdraw"].text(True, False) == "withdrew this launch from {}"
    assert STAGES["muster.train.run_info"].text(is_changed, is_checked) == "read the run on {}"


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "0.0 s"), (9.9, "9.9 s"), (34.4, "34 s"), (125, "2 min 5 s")])
def test_lasted(seconds: float, text: str) -> None:
    assert lasted(seconds) == text


@pytest.mark.parametrize(
    ("name", "title"),
    [("muster.train.memlock : Write the limits", "memlock: Write the limits"), ("Check: it", "Check: it")],
)
def test_task_title(name: str, title: str) -> None:
    assert task_title(name) == title


def test_hosts_with_the_same_result_are_one_entry() -> None:
    log = TaskLog(0.0)
    assert [log.add("failed", "no space", host) for host in ("n1", "n2")] == [True, False]
    assert log.add("failed", "no engine", "n3")
    assert list(log.texts("failed")) == [("no space", ["n1", "n2"]), ("no engine", ["n3"])]
    assert log.of("failed", "ok") == ["n1", "n2", "n3"]


def test_items_are_named_once() -> None:
    log = TaskLog(0.0)
    assert log.items == ""
    for label in "abacdefgh":
        log.add_label(label)
    assert log.items == " (a, b, c, d, e, f, …)"


def test_message_lines() -> None:
    assert message_lines("error", "a\n\nb\n") == ["error: a", "", "       b"]
    assert message_lines("error", "\n    rc: 1\n") == ["error:", "    rc: 1"]


def test_recap_groups_hosts() -> None:
    counts = {host: Counter({"changed": 2}) for host in NODES}
    counts["n128"]["failed"] += 1
    assert recap(counts) == ["n[001-127]: 2 changed", "n128: 2 changed, 1 failed"]
    assert recap({"n1": Counter()}) == []
