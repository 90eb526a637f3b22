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


def test_a_run_that_ends_an_attempt_may_yet_go_on() -> None:
    runs = [run("node0", "drained", nnodes=2, alive=True), run("node1", "lost", nnodes=2, why="killed?", alive=False)]
    verdict = judge(runs)
    assert verdict.verdict == "running"
    assert verdict.why == "node1: killed?; this attempt is stopping; the run will then end or restart"
    runs[0] = run("node0", "stopped", nnodes=2, alive=False)
    assert judge(runs).verdict == "lost"


def test_the_reason_for_no_further_attempt_is_shown_with_the_cause() -> None:
    end = {"verdict": "failed", "why": "node1: x; restarted 2 times", "note": "restarted 2 times"}
    runs = [
        run("node0", "stopped", nnodes=2, end=end),
        run("node1", "failed", nnodes=2, end=end, first=first(2, "RuntimeError: no key")),
    ]
    assert str(judge(runs).why).endswith("RuntimeError: no key; restarted 2 times")


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


def test_failed_names_the_cause_and_what_followed() -> None:
    segfault = first(3, exit_code=None, signal="SIGSEGV", log_tail=["Fatal Python error: Segmentation fault"])
    verdict = judge([run("node0", "failed", first=first(0, PEER)), run("node1", "failed", first=segfault)])
    assert (verdict.verdict, verdict.node, verdict.rank) == ("failed", "node1", 3)
    assert verdict.why == "node1: rank 3 killed by SIGSEGV"
    assert verdict.cause == Cause("node1", 3, None, "SIGSEGV", traceback=[])
    assert verdict.log_tail == ["Fatal Python error: Segmentation fault"]
    assert verdict.consequences == [f"node0: rank 0 exited with code 1: {PEER}"]
    assert verdict.exit_codes == {"node0": 1, "node1": 1}
    json.dumps(verdict.to_dict())


def test_all_local_failures_count_not_the_first_alone() -> None:
    victim, cause = first(0, PEER, signal="SIGTERM"), first(1, exit_code=7, time=2.0)
    verdict = judge(
        [
            run("node0", "failed", first=victim, failures=[victim, cause], log_tail=["the launcher's"]),
            run("node1", "failed", first=first(2, PEER)),
        ]
    )
    assert verdict.why == "node0: rank 1 exited with code 7"
    assert verdict.log_tail == []
    assert len(verdict.consequences) == 2


def test_a_node_that_has_not_noticed_the_failure_is_named() -> None:
    verdict = judge([run("node0", "running"), run("node1", "failed", first=first(2, exit_code=7))])
    assert verdict.verdict == "failed"
    assert verdict.why == "node1: rank 2 exited with code 7"
    assert verdict.consequences == ["node0: still running"]
    assert verdict.active == ["node0"]
    assert verdict.ended is None


def test_one_failed_while_the_other_succeeded() -> None:
    verdict = judge([run("node0", "succeeded"), run("node1", "failed", why="the launcher exited with code 1: late")])
    assert (verdict.verdict, verdict.why) == ("failed", "node1: the launcher exited with code 1: late")
    assert verdict.cause == Cause("node1", None, 1)


def test_lost() -> None:
    why = "the runner (pid 7) ended without a verdict while the run was running: killed?"
    verdict = judge([run("node0", "succeeded"), run("node1", "lost", why=why)])
    assert (verdict.verdict, verdict.node, verdict.why) == ("lost", "node1", f"node1: {why}")
    assert judge([run("node0", "stopped"), run("node1", "lost", why=why)]).verdict == "lost"
    assert judge([run("node0", "running"), run("node1", "lost", why=why)]).verdict == "lost"


def test_a_lost_node_is_the_cause_of_lost_peers() -> None:
    lost = run("node1", "lost", why="the node was rebooted while the run was running")
    verdict = judge([run("node0", "failed", first=first(0, PEER)), lost])
    assert (verdict.verdict, verdict.node) == ("failed", "node1")
    assert verdict.consequences == [f"node0: rank 0 exited with code 1: {PEER}"]


def test_stopped() -> None:
    verdict = judge([run("node0", "stopped", why="time limit of 60 s reached"), run("node1", "stopped", why="other")])
    assert (verdict.verdict, verdict.why, verdict.node) == ("stopped", "time limit of 60 s reached", None)
    assert judge([run("node0", "succeeded"), run("node1", "stopped", why="stop requested")]).verdict == "stopped"


def test_ranks_that_lost_their_peer_to_a_stop_did_not_fail() -> None:
    stopped = run("node0", "stopped", why="stop requested")
    verdict = judge([stopped, run("node1", "failed", first=first(2, PEER))])
    assert (verdict.verdict, verdict.why) == ("stopped", "stop requested")
    assert verdict.consequences == [f"node1: rank 2 exited with code 1: {PEER}"]
    assert judge([stopped, run("node1", "failed", first=first(2, exit_code=7))]).verdict == "failed"


def test_a_node_that_does_not_answer_is_not_stopped() -> None:
    verdict = judge([run("node0", "stopped", why="stop requested"), run("node1", "unreachable", why="no route")])
    assert (verdict.verdict, verdict.why) == ("unknown", "node1: unreachable: no route")


def test_half_stopped_still_goes_on() -> None:
    verdict = judge([run("node0", "stopped", why="stop requested"), run("node1", "stopping")])
    assert (verdict.verdict, verdict.why) == ("running", "stopped on node0, stopping on node1")
    assert verdict.active == ["node1"]


def test_running() -> None:
    verdict = judge([run("node0", "running"), run("node1", "running")])
    assert (verdict.verdict, verdict.why, verdict.ended) == ("running", None, None)
    assert verdict.active == ["node0", "node1"]
    assert verdict.exit_codes == {"node0": None, "node1": None}


def test_some_have_ended() -> None:
    verdict = judge([run("node0", "running"), run("node1", "succeeded")])
    assert (verdict.verdict, verdict.why) == ("running", "running on node0, succeeded on node1")
    assert (verdict.ended, verdict.consequences) == (None, [])


def test_waiting() -> None:
    assert judge([run("node0", "waiting"), run("node1", "waiting")]).verdict == "waiting"
    mixed = judge([run("node0", "waiting"), run("node1", "drained")])
    assert (mixed.verdict, mixed.why) == ("running", "waiting on node0, drained on node1")


def test_begun_on_some_nodes_only() -> None:
    verdict = judge([run("node0", "running"), run("node1", "prepared")])
    assert (verdict.verdict, verdict.why) == (
        "partial",
        "active on node0, not started on node1; run stop to end it and clean up",
    )
    assert judge([run("node0", "waiting"), run("node1", "not_found")]).verdict == "partial"
    ended = judge([run("node0", "succeeded"), run("node1", "not_found")])
    assert (ended.verdict, ended.why) == ("partial", "not started on node1")


def test_begun_nowhere() -> None:
    verdict = judge([run("node0", "prepared"), run("node1", "not_found")])
    assert (verdict.verdict, verdict.why) == (
        "prepared",
        "prepared on node0, not started on any node: run stop to clean up",
    )
    assert judge([run("node0", "not_found"), run("node1", "not_found")]).verdict == "not_found"
    assert judge([]).verdict == "not_found"
    assert judge([run("node0", "stopped", why="x"), run("node1", "prepared")]).verdict == "stopped"


@pytest.mark.parametrize("phase", ["unreachable", "unknown"])
def test_silent_nodes(phase: str) -> None:
    silent = run("node1", phase, why="no route to host")
    done = judge([run("node0", "succeeded"), silent])
    assert (done.verdict, done.why) == ("unknown", f"node1: {phase}: no route to host")
    going = judge([run("node0", "running"), silent])
    assert (going.verdict, going.why) == ("running", f"running on node0, {phase} on node1")
    assert going.consequences == [f"node1: {phase}: no route to host"]
    assert judge([silent]).verdict == "unknown"
    failed = judge([run("node0", "failed", first=first(0, PEER)), silent])
    assert (failed.verdict, failed.node) == ("failed", "node1")


@pytest.mark.parametrize("phase", ["unreachable", "unknown", "not_found", "prepared"])
def test_nodes_beyond_the_runs_ranks_have_no_part_in_it(phase: str) -> None:
    runs = [run("node0", "succeeded"), run("node1", "succeeded"), run("node2", phase, why="x")]
    assert judge(runs).verdict == "succeeded"
    assert judge(runs).exit_codes == {"node0": 0, "node1": 0}
    assert members(runs) == runs[:2]
    assert members(runs[1:]) == runs[1:]
