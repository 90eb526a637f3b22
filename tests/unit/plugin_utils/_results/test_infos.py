# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what is made of the nodes' registered answers, and of the absence of one."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils._records.listed_run import ListedRun
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos

RUN = {"node": "node0", "phase": "running", "run_id": "a", "why": None}


def only(result: object) -> Any:
    (info,) = read_infos([("node0", result)])
    return info


def test_an_answer() -> None:
    info = only({"changed": False, "run": RUN, "runs": [{"run_id": "a"}], "log": [{"text": "x"}]})
    assert (info.node, info.log, info.answered) == ("node0", [{"text": "x"}], True)
    assert (info.run, info.runs) == (RunRecord.from_dict(RUN), [ListedRun("a")])


def test_an_answer_says_whether_something_was_changed() -> None:
    assert only({"changed": True, "run": RUN}).changed
    assert not only({"changed": False, "run": RUN}).changed
    assert not only({"run": RUN}).changed


def test_an_answer_without_a_name_gets_the_inventorys() -> None:
    assert only({"run": {"node": None, "phase": "not_found"}}).run.node == "node0"


def test_a_failed_answer_that_still_contains_the_run() -> None:
    info = only({"failed": True, "msg": "node0: pid 7 stays", "why": "pid 7 stays", "run": {**RUN, "phase": "stopped"}})
    assert (info.answered, info.run.phase, info.run.why) == (True, "stopped", "pid 7 stays")


def test_unreachable() -> None:
    info = only({"unreachable": True, "msg": "Task failed: ssh: connect to host\n 10.0.0.9"})
    assert not info.answered
    assert info.run == RunRecord(
        node="node0", phase="unreachable", why="ssh: connect to host 10.0.0.9", likeness=Likeness.SILENT
    )


def test_failed() -> None:
    info = only({"failed": True, "msg": "node0: no", "why": "slot held by run b", "log_tail": ["last words"]})
    assert (info.run.phase, info.run.why) == ("unknown", "slot held by run b")
    assert info.run.log_tail == ["last words"]
    crashed = only({"failed": True, "msg": "MODULE FAILURE", "module_stderr": "Traceback\nKeyError"})
    gone = only({"failed": True, "msg": "No start of json char found", "module_stderr": "container not found"})
    assert gone.finding is not None and "json" not in gone.run.why
    assert crashed.run.log_tail == ["Traceback", "KeyError"]


def test_who_was_skipped_has_no_part() -> None:
    assert read_infos([("node0", {"skipped": True, "changed": False})]) == []


def test_no_answer_at_all() -> None:
    answers: tuple[object, ...] = (None, "text", [], {"run": {}})
    for nothing in answers:
        assert only(nothing).run.phase == "unknown"
        assert not only(nothing).answered
