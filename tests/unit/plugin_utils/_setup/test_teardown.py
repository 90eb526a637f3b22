# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what teardown says."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._setup.teardown import answer, lines


def result(**changes: Any) -> dict[str, Any]:
    return {"removed": [], "kept": [], "engine": None, "failed_on": [], **changes}


def test_per_node_what_went_and_what_stays() -> None:
    runs = [{"kind": "run", "name": f"r{number}"} for number in range(8)]
    container = {"kind": "container", "name": "muster-a-0"}
    kept = [{"kind": "run", "name": "live", "why": "it is running: stop it first"}]
    answers = [
        answer("n1", result(removed=[container, *runs])),
        answer("n2", result(kept=kept)),
        answer("n3", result()),
    ]
    assert lines(answers, False, 100) == [
        "node  what     which",
        "n1    removed  containers: muster-a-0",
        "n1    removed  run directories: r0, r1, r2, r3, r4, r5 and 2 more",
        "n2    stays    run live: it is running: stop it first",
        "no run to remove on n3",
    ]
    assert lines(answers, True, 100)[1] == "n1    would go  containers: muster-a-0"
    assert not any(answer.failed for answer in answers)


def test_nodes_without_an_answer_and_failures() -> None:
    silent = answer("n1", {"unreachable": True, "msg": "no\x1b[2J route"})
    failed = answer("n2", result(failed_on=["run a: Permission denied"], engine="no answer within 15 s"))
    assert [result.failed for result in (silent, failed, answer("n3", None))] == [True, True, True]
    assert lines([silent, failed], False, 120)[1:] == [
        "n1    no answer  no route",
        "n2    not asked  containers: the engine reports: no answer within 15 s",
        "n2    failed     run a: Permission denied",
        "n1: answer: no route; expected an answer (Ansible); try it: ssh n1",
    ]
