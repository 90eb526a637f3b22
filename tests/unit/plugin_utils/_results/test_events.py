# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what happened in a run besides its end."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import EndedAttempt, RunRecord, RunWarning
from ansible_collections.muster.train.plugins.plugin_utils._results import events
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge

AT = "2026-11-20T14:03:22Z"
ENDED = [EndedAttempt(number, AT, "lost", "n1: gone\x1b[2J", "n1", None) for number in range(6)]


def full(node: str, phase: str = "succeeded") -> RunRecord:
    warnings = [RunWarning("disk_full", node, AT).to_dict()]
    return RunRecord.from_dict({"node": node, "phase": phase, "nproc": 1, "world_size": 1, "warnings": warnings})


@pytest.mark.parametrize(
    ("node", "holder"),
    [("n0", "n0"), ("z1", "a2"), ("n3", "s3")],
    ids=["not replaced", "replaced twice", "replaced"],
)
def test_who_has_a_nodes_ranks(node: str, holder: str) -> None:
    replaced = {"a1": "a2", "n3": "s3", "z1": "a1"}  # as JSON sorts them, not as they were replaced
    assert events.stand_in(node, replaced) == holder
    assert events.replaced_by(replaced) == {"a2": "z1", "s3": "n3"}


def test_a_circle_of_spares_ends() -> None:
    assert events.stand_in("a", {"a": "b", "b": "a"}) in ("a", "b")
    assert events.replaced_by({"a": "b", "b": "a"}) == {}


def test_ended_attempts_are_lines_of_which_the_last_are_shown() -> None:
    lines = events.attempt_lines(ENDED)
    assert [line.split()[1] for line in lines[1:]] == ["3", "4", "5", "6"]
    assert all(line.isprintable() for line in lines)
    assert events.attempt_lines([]) == []
    assert events.attempts_data(ENDED[:1])[0]["attempt"] == 1


def test_a_full_disk_is_a_doubt_about_a_success_and_a_remark_on_a_failure() -> None:
    success, failure = judge([full("node0")]), judge([full("node0", "failed")])
    assert success.warnings == failure.warnings == [RunWarning("disk_full", "node0", AT)]
    assert [verdict.verdict for verdict in (success, failure)] == ["succeeded", "failed"]
    assert [len(verdict.consequences) for verdict in (success, failure)] == [0, 1]
    assert success.why is not None and success.why != failure.why


def test_another_warning_is_not_of_a_disk() -> None:
    assert events.disk_text([RunRecord(node="n0")]) is None
    unknown = RunRecord.from_dict({"node": "n0", "warnings": [{"kind": "of another version", "at": AT}]})
    assert events.disk_text([unknown]) is None


def test_a_rank_that_raised_and_has_not_ended_is_told_while_the_run_lives() -> None:
    raised = [
        RunWarning("raised", node, f"2026-11-20T14:0{minute}:22Z", 3, "ValueError: x")
        for node, minute in (("n1", 4), ("n2", 3))
    ]
    text = events.raised_text([RunWarning("disk_full", "n0", AT), *raised])
    assert text is not None and text.startswith("n2: rank 3 ")
    assert events.raised_text([RunWarning("disk_full", "n0", AT)]) is None
    record = {"node": "n1", "nproc": 1, "world_size": 1, "warnings": [raised[0].to_dict()]}
    remarks = [judge([RunRecord.from_dict({**record, "phase": phase})]).consequences for phase in ("running", "failed")]
    assert [sum("ValueError" in line for line in lines) for lines in remarks] == [1, 0]
