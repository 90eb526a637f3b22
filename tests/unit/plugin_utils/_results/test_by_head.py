# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head's answer says of the other nodes, and which of them have to be asked all the same."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.gang import STATES, NodeStatus
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results.by_head import (
    MOST_FAILED,
    speak,
    unfinished_nodes,
    unknown_nodes,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import Info, read_infos, runs_of
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge

SIGN = {"phase": "running", "attempt": 0, "elapsed_s": 60.0, "progress": {"step": 7}, "pids": [11, 12], "why": "so"}


def head(phase: str = "running", alive: bool = True, **more: Any) -> RunRecord:
    data = {"run_id": "r", "node": "n0", "node_rank": 0, "nnodes": 3, "nproc": 2, "world_size": 6, "first_rank": 0}
    end = None if alive else {"verdict": phase, "why": "because"}
    times = {"created": "2026-11-20T14:30:52Z", "started": "2026-11-20T14:30:53Z"}
    return RunRecord.from_dict({**data, **times, "nonce": "a", "phase": phase, "alive": alive, "end": end, **more})


def status(number: int, state: str = "running", **more: Any) -> dict[str, Any]:
    data = {"node": f"n{number}", "number": number, "node_rank": number, "state": state, "heard_s": 1.0}
    return {**data, "sign": SIGN, **more}


def statuses(*data: dict[str, Any]) -> list[NodeStatus]:
    return [NodeStatus.from_dict(item) for item in data]


def spoken(run: RunRecord, data: dict[str, Any]) -> RunRecord | None:
    return speak(run, NodeStatus.from_dict(data))


def test_a_node_that_runs() -> None:
    run = spoken(head(), status(2))
    assert run is not None
    assert (run.node, run.node_rank, run.first_rank, run.nproc, run.nnodes, run.nonce) == ("n2", 2, 4, 2, 3, "a")
    assert (run.phase, run.alive, run.why, run.pids, run.elapsed_s) == ("running", True, "so", [11, 12], 60.0)
    assert run.progress is not None
    assert run.progress.step == 7
    assert run.ended is None


@pytest.mark.parametrize(
    ("state", "phase", "shown"),
    [
        ("joined", "waiting", "waiting"),
        ("joined", "running", "waiting"),
        ("running", "waiting", "running"),
        ("running", "stopping", "stopping"),
        ("running", "succeeded", "running"),
        ("drained", "running", "drained"),
    ],
)
def test_the_head_knows_more_than_an_old_sign(state: str, phase: str, shown: str) -> None:
    run = spoken(head(), status(1, state, sign={**SIGN, "phase": phase}))
    assert run is not None
    assert (run.phase, run.why) == (shown, "so" if phase == shown else None)


def test_storage_that_does_not_answer_is_shown_as_an_old_heartbeat() -> None:
    run = spoken(head(), status(1, stalled_s=40))
    assert run is not None
    assert run.heartbeat_age_s == 40


@pytest.mark.parametrize(
    ("run", "data"),
    [
        (head(), status(1, "absent")),
        (head(), status(1, "lost")),
        (head(), status(1, "exited")),
        (head(), status(1, "made up")),
        (head(), status(1, heard_s=16.0)),
        (head(), status(1, heard_s=None)),
        (head(alive=False, phase="running"), status(1)),
        (head(alive=False, phase="lost", end=None), status(1, "exited", phase="succeeded")),
        (head(node_rank=1), status(2)),
        (head("succeeded", alive=False), status(1, "lost")),
        (head("succeeded", alive=False), status(1, "exited")),
        (head("succeeded", alive=False), status(1, "exited", phase="running")),
    ],
)
def test_nodes_of_which_the_head_does_not_know_enough(run: RunRecord, data: dict[str, Any]) -> None:
    assert spoken(run, data) is None
    assert unknown_nodes(run, statuses(data)) == [data["node"]]


def test_an_idle_spare() -> None:
    waiting = spoken(head(), status(3, "joined", node_rank=None, sign={"phase": "waiting", "why": "a spare"}))
    assert waiting is not None
    assert (waiting.phase, waiting.node_rank, waiting.why) == ("waiting", 3, "a spare")
    ended = spoken(head("succeeded", alive=False), status(3, "exited", node_rank=None))
    assert ended is not None
    assert (ended.phase, ended.alive) == ("stopped", False)


def test_a_run_that_has_ended() -> None:
    ended = {"phase": "succeeded", "exit_code": 0, "ended": "2026-11-20T14:31:53Z"}
    run = spoken(head("succeeded", alive=False), status(1, "exited", **ended))
    assert run is not None
    assert (run.phase, run.alive, run.exit_code, run.ended, run.pids) == (
        "succeeded",
        False,
        0,
        "2026-11-20T14:31:53Z",
        None,
    )


def test_a_failed_node_is_asked_and_many_only_for_the_likeliest_causes() -> None:
    names = [f"n{number}" for number in range(1, 3 * MOST_FAILED)]
    reports = [
        {"node": name, "phase": "failed", "likeness": 2, "rank": 2 * at, "exit_code": 1, "cause": name == "n9"}
        for at, name in enumerate(names, 1)
    ]
    run = head("failed", alive=False, gang={"attempt": 0, "reports": reports})
    known = statuses(*(status(at, "exited", phase="failed") for at in range(1, len(names) + 1)))
    asked = unknown_nodes(run, known)
    assert (asked[0], len(asked)) == ("n9", MOST_FAILED)
    other = speak(run, known[-1])
    assert other is not None
    assert other.first is not None
    assert (other.first.rank, other.first.exit_code, other.likeness) == (2 * len(names), 1, 2)


def test_a_stop_looks_where_something_may_be_left() -> None:
    known = statuses(
        status(0, "running"),
        status(1, "exited", phase="stopped"),
        status(2, "drained", phase="stopped"),
        status(3, "lost"),
        status(4, "exited", phase="failed", stuck=True),
    )
    nodes = ["n0", "n1", "n2", "n3", "n4", "n5"]
    ended = head("stopped", alive=False)
    assert unfinished_nodes(ended, known, nodes) == ["n2", "n3", "n4", "n5"]
    assert unfinished_nodes(dataclasses.replace(ended, starter="docker"), known, nodes) == nodes[1:]
    assert unfinished_nodes(head(), known, nodes) == nodes[1:]
    assert unfinished_nodes(head("lost", alive=False, end=None), known, nodes) == nodes[1:]


def infos(run: RunRecord, known: list[dict[str, Any]], **results: Any) -> list[Info]:
    answer = {"run": run.to_dict(), "runs": [], "nodes": known}
    return read_infos([("n0", answer), *((name, results.get(name)) for name in ("n1", "n2", "n3"))])


def test_the_answers_of_nodes_that_were_not_asked_are_the_heads() -> None:
    known = [status(0), status(1), status(2)]
    answers = infos(head(), known)
    assert [info.node for info in answers] == ["n0", "n1", "n2"], "n3 has no part in the run"
    assert [info.run.phase for info in answers] == ["running"] * 3
    assert answers[1].runs[0].alive
    verdict = judge(runs_of(answers))
    assert (verdict.verdict, verdict.active) == ("running", ["n0", "n1", "n2"])


def test_a_node_that_was_asked_speaks_for_itself_or_is_silent_with_its_ranks() -> None:
    known = [status(0), status(1), status(2, "lost")]
    answer = {"run": {**head().to_dict(), "node": "n1", "node_rank": 1, "phase": "stopping"}}
    late = {"failed": True, "msg": "Timed out after 12 second(s).", "timedout": {"period": 12}}
    _head, first, second = infos(head(), known, n1=answer, n2=late)
    assert (first.run.phase, first.answered) == ("stopping", True)
    assert (second.run.phase, second.answered) == ("unreachable", False)
    assert (second.run.node_rank, second.run.first_rank, second.run.nproc) == (2, 4, 2)


@pytest.mark.parametrize("foreign", [None, 1, "x", {}, [None, 1, "x", {}, {"node": 7, "state": []}]])
def test_no_answer_of_a_head_is_an_error(foreign: Any) -> None:
    (info, *_others) = infos(head(), foreign)
    assert info.run.phase == "running"


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("run", [head(), head("failed", alive=False), RunRecord()])
def test_every_state_without_a_sign(run: RunRecord, state: str) -> None:
    known = NodeStatus.from_dict({"node": "n1", "state": state})
    assert speak(run, known) is None or known.state in ("joined", "running", "drained", "exited")
