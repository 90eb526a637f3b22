# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the verdict on a whole run, for every mixture of phases that two or three nodes can be in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results import verdict as _verdict
from ansible_collections.muster.train.plugins.plugin_utils._results.causes import Cause
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import Verdict

PEER = "RuntimeError: gloo: Connection closed by peer [10.0.0.1]:1"


def run(node: str, phase: str, **more: Any) -> dict[str, Any]:
    rank = int(node[-1])
    record: dict[str, Any] = {"node": node, "node_rank": rank, "phase": phase, "why": None, "first": None}
    if phase not in ("not_found", "prepared", "unreachable", "unknown"):
        record.update(nproc=2, world_size=4, first_rank=2 * rank, started=f"2026-11-20T14:30:5{rank}Z", elapsed_s=9.96)
    if phase in ("succeeded", "failed", "stopped"):
        record.update(ended=f"2026-11-20T14:31:2{rank}Z", exit_code=0 if phase == "succeeded" else 1)
    return {**record, **more}


def judge(runs: Sequence[dict[str, Any]]) -> Verdict:
    return _verdict.judge([RunRecord.from_dict(run) for run in runs])


def members(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    records = [RunRecord.from_dict(run) for run in runs]
    parts = _verdict.members(records)
    return [run for run, record in zip(runs, records, strict=True) if record in parts]


def first(rank: int, message: str | None = None, **more: Any) -> dict[str, Any]:
    return {"rank": rank, "exit_code": 1, "signal": None, "message": message, "traceback": [], "time": 1.0, **more}


def gone(phase: str = "lost") -> dict[str, Any]:
    return run("node1", phase, why="no sign of life")


NOTED = {"verdict": "failed", "why": "node1: x; restarted 2 times", "note": "restarted 2 times"}
SEGFAULT = first(3, exit_code=None, signal="SIGSEGV", log_tail=["Fatal Python error: Segmentation fault"])
LOST_PEER, EXITED = run("node0", "failed", first=first(0, PEER)), run("node1", "failed", first=first(2, exit_code=7))
OF_TWO = [first(0, PEER, signal="SIGTERM"), first(1, exit_code=7, time=2.0)]
STOPPED, LATE = run("node0", "stopped", why="stop requested"), run("node1", "stopped", why="time limit of 60 s reached")
# The nodes of a run; its verdict, the node and the rank of the cause, and the nodes where it is active.
CASES: dict[str, tuple[list[dict[str, Any]], str, str | None, int | None, list[str]]] = {
    "an attempt that ends": (
        [run("node0", "drained", nnodes=2, alive=True), run("node1", "lost", nnodes=2, why="killed?", alive=False)],
        *("running", None, None, ["node0"]),
    ),
    "no further attempt": (
        [
            run("node0", "stopped", nnodes=2, end=NOTED),
            run("node1", "failed", nnodes=2, end=NOTED, first=first(2, "RuntimeError: no key")),
        ],
        *("failed", "node1", 2, []),
    ),
    "a failure and what followed": ([LOST_PEER, run("node1", "failed", first=SEGFAULT)], "failed", "node1", 3, []),
    "the second of a node": (
        [
            run("node0", "failed", first=OF_TWO[0], failures=OF_TWO, log_tail=["the launcher's"]),
            run("node1", "failed", first=first(2, PEER)),
        ],
        *("failed", "node0", 1, []),
    ),
    "not noticed on the other node": ([run("node0", "running"), EXITED], "failed", "node1", 2, ["node0"]),
    "a launcher": ([run("node0", "succeeded"), run("node1", "failed", why="too late")], "failed", "node1", None, []),
    "a lost node": ([run("node0", "succeeded"), gone()], "lost", "node1", None, []),
    "a lost and a stopped node": ([run("node0", "stopped"), gone()], "lost", "node1", None, []),
    "a lost and a running node": ([run("node0", "running"), gone()], "lost", "node1", None, ["node0"]),
    "a lost peer of a lost node": ([LOST_PEER, gone()], "failed", "node1", None, []),
    "two reasons to stop": ([STOPPED, LATE], "stopped", None, None, []),
    "stopped before its end": ([run("node0", "succeeded"), run("node1", "stopped")], "stopped", None, None, []),
    "a peer that a stop took": ([STOPPED, run("node1", "failed", first=first(2, PEER))], "stopped", None, None, []),
    "a failure beside a stop": ([STOPPED, EXITED], "failed", "node1", 2, []),
    "stopped on one node, the other silent": ([STOPPED, gone("unreachable")], "unknown", "node1", None, []),
    "half stopped": ([STOPPED, run("node1", "stopping")], "running", None, None, ["node1"]),
    "running": ([run("node0", "running"), run("node1", "running")], "running", None, None, ["node0", "node1"]),
    "half ended": ([run("node0", "running"), run("node1", "succeeded")], "running", None, None, ["node0"]),
    "waiting": ([run("node0", "waiting"), run("node1", "waiting")], "waiting", None, None, ["node0", "node1"]),
    "half drained": ([run("node0", "waiting"), run("node1", "drained")], "running", None, None, ["node0", "node1"]),
    "half begun": ([run("node0", "running"), run("node1", "prepared")], "partial", None, None, ["node0"]),
    "half known": ([run("node0", "waiting"), run("node1", "not_found")], "partial", None, None, ["node0"]),
    "half never begun": ([run("node0", "succeeded"), run("node1", "not_found")], "partial", None, None, []),
    "prepared": ([run("node0", "prepared"), run("node1", "not_found")], "prepared", None, None, []),
    "known nowhere": ([run("node0", "not_found"), run("node1", "not_found")], "not_found", None, None, []),
    "no node": ([], "not_found", None, None, []),
    "stopped before it began": ([STOPPED, run("node1", "prepared")], "stopped", None, None, []),
    **{
        f"{name}, the other node {phase}": ([*runs, gone(phase)], verdict, node, None, active)
        for phase in ("unreachable", "unknown")
        for name, runs, verdict, node, active in (
            ("succeeded", [run("node0", "succeeded")], "unknown", "node1", []),
            ("running", [run("node0", "running")], "running", None, ["node0"]),
            ("no answer", [], "unknown", "node1", []),
            ("a lost peer", [LOST_PEER], "failed", "node1", []),
        )
    },
}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict(name: str) -> None:
    runs, *expected = CASES[name]
    verdict = judge(runs)
    assert [verdict.verdict, verdict.node, verdict.rank, verdict.active] == expected
    assert verdict.ended is None or not verdict.active
    json.dumps(verdict.to_dict())


def test_a_spare_without_ranks_has_no_part_and_one_with_ranks_has_the_lost_nodes() -> None:
    nnodes = {"nnodes": 2}
    waits = run("node2", "waiting", **nnodes)
    runs = [run("node0", "running", **nnodes, attempt=0), run("node1", "running", **nnodes, attempt=0), waits]
    assert members(runs) == runs[:2]
    assert judge(runs).verdict == "running"
    again = [
        run("node0", "succeeded", **nnodes, attempt=1),
        run("node1", "lost", **nnodes, attempt=0),
        {**run("node2", "succeeded", **nnodes, attempt=1), "node_rank": 1, "first_rank": 2},
    ]
    assert members(again) == [again[0], again[2]]
    assert judge(again).verdict == "succeeded"
    assert list(judge(again).exit_codes) == ["node0", "node2"]


@pytest.mark.parametrize(("phase", "alive", "verdict"), [("drained", True, "running"), ("drained", False, "lost")])
def test_a_lost_nodes_word_is_not_the_runs_while_the_head_may_seat_a_spare(
    phase: str, alive: bool, verdict: str
) -> None:
    word = {"verdict": "lost", "why": "no sign of life from the head's runner for 12 s"}
    runs = [
        run("node0", phase, nnodes=2, attempt=0, alive=alive),
        run("node1", "stopped", nnodes=2, attempt=0, alive=False, end=word),
        run("node2", "waiting", nnodes=2, alive=True),
    ]
    assert judge(runs).verdict == verdict


def test_a_head_that_has_stopped_starts_no_further_attempt() -> None:
    _drained, lost = CASES["an attempt that ends"][0]
    assert judge([run("node0", "stopped", nnodes=2, alive=False), lost]).verdict == "lost"


def test_a_node_that_came_too_late_has_no_part() -> None:
    late = run("node1", "failed", nnodes=2, why="the head refused", started=None, end={"verdict": "failed", "why": "x"})
    spare = {**run("node2", "running", nnodes=2, attempt=0), "node_rank": 1, "first_rank": 2}
    runs = [run("node0", "running", nnodes=2, attempt=0), late, spare]
    assert members(runs) == [runs[0], spare]
    assert judge(runs).verdict == "running"


def test_a_node_that_knows_an_earlier_launch_only_has_no_part() -> None:
    first, second = {"nonce": "a", "created": "2026-11-20T10:00:00Z"}, {"nonce": "b", "created": "2026-11-20T11:00:00Z"}
    old = run("node0", "failed", nnodes=2, **first, end={"verdict": "failed", "why": "its GPU"})
    runs = [
        old,
        run("node1", "succeeded", nnodes=2, **second),
        {**run("node2", "succeeded", nnodes=2, **second), "node_rank": 0, "first_rank": 0},
    ]
    assert members(runs) == runs[1:]
    assert judge(runs).verdict == "succeeded"


def test_a_node_whose_place_a_spare_took_before_the_start_has_no_part() -> None:
    runs = [
        run("node0", "succeeded", nnodes=2),
        run("node1", "unreachable"),
        {**run("node2", "succeeded", nnodes=2), "node_rank": 1, "first_rank": 2},
    ]
    assert judge(runs).verdict == "succeeded"


def test_succeeded() -> None:
    verdict = judge([run("node0", "succeeded", elapsed_s=30.04), run("node1", "succeeded", elapsed_s=31.26)])
    assert verdict.to_dict() == {
        "verdict": "succeeded",
        "node": None,
        "rank": None,
        "why": None,
        "cause": None,
        "log_tail": [],
        "consequences": [],
        "active": [],
        "exit_codes": {"node0": 0, "node1": 0},
        "started": "2026-11-20T14:30:50Z",
        "ended": "2026-11-20T14:31:21Z",
        "elapsed_s": 31.3,
        "warnings": [],
    }


def test_other_nodes_of_the_group_are_not_members() -> None:
    """Two of four nodes: where not all ranks are found, the run's number of nodes tells who belongs to it."""
    one = run("node0", "running", nproc=4, nnodes=1)
    assert members([one, run("node1", "not_found"), run("node2", "unreachable")]) == [one]
    two = [run("node0", "running", nnodes=2), run("node1", "unreachable")]
    assert members([*two, run("node2", "not_found"), run("node3", "unreachable")]) == two
    moved = [
        run("node0", "not_found"),
        run("node1", "running", nnodes=2, node_rank=0),
        run("node2", "running", nnodes=2, node_rank=1),
    ]
    assert members([*moved, run("node3", "not_found")]) == moved[1:]
    assert len(members([run("node0", "not_found"), run("node1", "prepared")])) == 2


def test_the_cause_is_data() -> None:
    verdict = judge(CASES["a failure and what followed"][0])
    assert verdict.cause == Cause("node1", 3, None, "SIGSEGV", traceback=[])
    assert verdict.log_tail == ["Fatal Python error: Segmentation fault"]
    assert verdict.exit_codes == {"node0": 1, "node1": 1}
    verdict = judge(CASES["the second of a node"][0])
    assert (verdict.log_tail, len(verdict.consequences)) == ([], 2)
    assert judge(CASES["a launcher"][0]).cause == Cause("node1", None, 1)
    assert judge(CASES["running"][0]).exit_codes == {"node0": None, "node1": None}


@pytest.mark.parametrize("phase", ["unreachable", "unknown", "not_found", "prepared"])
def test_nodes_beyond_the_runs_ranks_have_no_part_in_it(phase: str) -> None:
    runs = [run("node0", "succeeded"), run("node1", "succeeded"), run("node2", phase, why="x")]
    assert judge(runs).verdict == "succeeded"
    assert judge(runs).exit_codes == {"node0": 0, "node1": 0}
    assert members(runs) == runs[:2]
    assert members(runs[1:]) == runs[1:]
