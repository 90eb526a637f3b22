# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what the user reads: tables, summaries, explanations, logs."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress, RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.spans import spans
from ansible_collections.muster.train.plugins.plugin_utils._results import report
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos, runs_of
from ansible_collections.muster.train.plugins.plugin_utils._results.rows import duration, losses
from ansible_collections.muster.train.plugins.plugin_utils._results.signatures.text import advice
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge

RUN_ID = "multinode_42ch_256th_20261120_143052"


def run(node: str, phase: str, rank: int = 0, **more: Any) -> RunRecord:
    progress = {"step": 400, "total_steps": 400, "first_loss": 5.5512, "loss": 1.9301, "tokens_per_s": 41234.5}
    record: dict[str, Any] = {"node": node, "node_rank": rank, "phase": phase, "nproc": 2, "world_size": 4}
    record.update(first_rank=2 * rank, progress=progress, elapsed_s=31.2, why=None, run_dir=f"/w{rank}/runs/{RUN_ID}")
    return RunRecord.from_dict({**record, **more})


VICTIM = {"rank": 0, "exit_code": None, "signal": "SIGTERM", "message": "gloo: Connection closed by peer", "time": 1}
OF_TWO = [VICTIM, {"rank": 1, "exit_code": 7, "signal": None, "message": None, "time": 2}]
TAIL = [f"line {number}" for number in range(30)]
SEGFAULT = {"rank": 3, "exit_code": None, "signal": "SIGSEGV", "time": 2.0, "log_tail": TAIL}
MANY = [{"rank": rank, "exit_code": rank + 1, "signal": None, "time": rank} for rank in range(12)]
STALLED = [{"node": "node1", "seconds": 37}]
OWN_RANKS = [run("node0", "succeeded", ranks=[0, 1, 2, 5]), run("node1", "succeeded", 1, ranks=[3, 4])]
RUNS = {
    "nodes of which one failed": [
        run("node0", "succeeded"),
        run("node1", "failed", 1, progress=None, why="rank 3 killed by SIGSEGV"),
    ],
    "a rank that failed by itself": [run("node0", "failed", why="rank 0", first=VICTIM, failures=OF_TWO)],
    "a silent heartbeat": [run("node0", "running", alive=True, heartbeat_age_s=40.0, left=3, log_dropped=1024)],
    "a process that is left": [run("node0", "stopped", left=1)],
    "storage that does not answer": [run("node0", "running", alive=True, stalled=STALLED)],
    "a unit with a limit": [run("node0", "running", alive=True, starter="systemd", memlock={"soft": 8 << 20})],
    "a success": [run("node0", "succeeded"), run("node1", "succeeded", 1)],
    "one rank": [run("node0", "waiting", nproc=1, world_size=1, progress=None, elapsed_s=None)],
    "no metrics": [run("node0", "succeeded", nproc=1, world_size=1, progress=None)],
    "a run that is not known": [RunRecord(node="node0", phase="not_found", why="x")],
    "ranks that a program starts": OWN_RANKS,
    "ranks that a program does not report": [
        run(f"node{rank}", "succeeded", rank, ranks=[], progress=None) for rank in range(2)
    ],
    "a failure and what followed": [
        run("node0", "failed", first={**VICTIM, "exit_code": 1, "signal": None}),
        run("node1", "failed", 1, first=SEGFAULT, progress={"step": 9, "total_steps": 400}),
    ],
    "many failures": [run("node0", "failed", first=MANY[0], failures=MANY)],
}
HELD = "slot 'default' is held by run multinode_1ch_64th_20261120_100000 (launch 0a1b2c3d) on node1"
RUNS_ON_0 = ("node0", {"run": run("node0", "running").to_dict()})
KEPT_OUT = ("node1", {"failed": True, "msg": f"node1: {HELD}", "why": HELD, "log_tail": ["last word"]})
NO_SPACE = ("node2", {"failed": True, "msg": "node2: no space", "why": "no space"})
# The answers to a start, and why those that were started did not begin together.
NOT_STARTED: dict[str, tuple[list[tuple[str, Any]], str | None]] = {
    "a slot that is held": ([RUNS_ON_0, KEPT_OUT, ("node2", {"unreachable": True, "msg": "no route"})], None),
    # As where a spare had not started either, which fails no launch; only this message has the reason.
    "a spare, and why the others did not begin": ([RUNS_ON_0, NO_SPACE], "node0: cannot start train"),
    "none": ([RUNS_ON_0], None),
    "none, but one did not join": ([RUNS_ON_0], "node1 did not join"),
}


def not_started(name: str) -> tuple[str, list[str]]:
    answers, together = NOT_STARTED[name]
    return report.not_started(read_infos(answers), together)


def test_a_node_that_did_not_answer_is_a_row() -> None:
    infos = read_infos(
        [("node0", {"run": run("node0", "running").to_dict()}), ("node1", {"unreachable": True, "msg": "no route"})]
    )
    assert report.status_table(runs_of(infos), 100)[2].split() == ["node1", "unreachable", "no", "route"]


def test_remarks_on_a_run() -> None:
    headers, row = report.status_table([run("node0", "running", pids=[4711, 4712])], 200)
    assert row[headers.index("PIDs") :].startswith("4711-4712 ")
    calm = report.status_table([run("node0", "running", alive=True, heartbeat_age_s=1.0, left=0, log_dropped=0)], 200)
    assert "why" not in calm[0]


@pytest.mark.parametrize(
    ("starter", "soft", "alive", "shown"),
    [
        ("systemd", 8 << 20, True, True),
        ("systemd-user", 8 << 20, True, True),
        ("systemd", -1, True, False),
        ("setsid", 8 << 20, True, False),
        ("systemd-nspawn", 8 << 20, True, False),
        ("systemd", 8 << 20, False, False),
    ],
)
def test_a_unit_with_less_than_it_requests_is_reported(starter: str, soft: int, alive: bool, shown: bool) -> None:
    row = run("node0", "running", alive=alive, starter=starter, memlock={"soft": soft, "hard": soft})
    assert ("why" in report.status_table([row], 200)[0].split()) is shown


def test_a_long_reason_is_wrapped_not_cut() -> None:
    why = " ".join(f"word{number}" for number in range(60))
    lines = report.status_table([run("node0", "stopped", why=why)], 100)
    assert max(map(len, lines)) <= 100
    assert " ".join(" ".join(lines).split()).endswith("word57 word58 word59")


def test_progress_of_an_unexpected_shape() -> None:
    progress = {"step": "many", "total_steps": None, "loss": float("nan"), "tokens_per_s": True}
    row = report.status_table([run("node0", "running", progress=progress)], 100)[1]
    assert row.split() == ["node0", "0", "running", "0-1", "nan", "31", "s"]
    assert losses(Progress(loss=2.0)) == "2"
    assert losses(None) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (31.9, "31 s"),
        (60, "1 min 0 s"),
        (725, "12 min 5 s"),
        (3600, "1 h 00 min"),
        (11220, "3 h 07 min"),
        (187200, "2 d 4 h"),
        (None, ""),
        (float("nan"), ""),
        ("1", ""),
    ],
)
def test_duration(seconds: object, text: str) -> None:
    assert duration(seconds) == text


def test_ranks_that_a_program_starts_are_those_that_it_reports() -> None:
    assert " 0-2, 5 " in report.status_table(OWN_RANKS, 120)[1]
    assert spans([5, 0, 2, 1]) == "0-2, 5"
    assert report.no_such_rank(OWN_RANKS, {"value": 5, "origin": "-e rank"}) is None
    assert report.no_such_rank(OWN_RANKS, {"value": 6, "origin": "-e rank"}) is not None


def test_explanation_falls_back_to_the_traceback() -> None:
    first = {
        "rank": 0,
        "exit_code": 1,
        "signal": None,
        "message": "ValueError: x",
        "traceback": ["Traceback", "\x1b[1mx"],
    }
    verdict = judge([run("node0", "failed", first=first, world_size=2)])
    assert report.explanation(verdict)[-2:] == ["    | Traceback", "    | x"]


def test_many_consequences_are_counted() -> None:
    assert len(report.explanation(judge(RUNS["many failures"]))) == 1 + report.CONSEQUENCES + 1


def test_nothing_to_explain() -> None:
    assert report.explanation(judge(RUNS["a success"])) == []


def test_places() -> None:
    runs = [run(f"node{rank}", "succeeded", rank) for rank in range(6)]
    assert report.places([*runs[:1], run("node1", "not_found")], "experiments/x") == [
        ("experiment", "experiments/x"),
        ("on node0", f"/w0/runs/{RUN_ID}"),
    ]
    assert len(report.places(runs, None)) == report.PLACES + 1


def test_not_started_blames_no_victim() -> None:
    infos = read_infos(
        [
            ("node0", {"failed": True, "msg": "failed: rank 0 exited with code 1", "likeness": 4}),
            ("node1", {"unreachable": True, "msg": "no route"}),
            ("node2", {"failed": True, "msg": "failed: rank 2: gloo: Connection closed by peer", "likeness": 0}),
        ]
    )
    assert [line.split(":")[0].strip() for line in report.not_started(infos, None)[1]] == ["node2", "node1", "node0"]


def test_the_first_line_of_those_that_did_not_start_is_the_message() -> None:
    for name in NOT_STARTED:
        why, lines = not_started(name)
        assert [f"  {why}"] == lines[:1] or not lines
    assert len(not_started("a spare, and why the others did not begin")[1]) == 2


def test_a_known_line_is_explained_below_the_cause() -> None:
    gpu_lost = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    first = {"rank": 0, "exit_code": 1, "signal": None, "message": "RuntimeError: x", "log_tail": [gpu_lost]}
    shown = report.explanation(judge([run("node0", "failed", first=first, world_size=2)]))
    assert shown[1:3] == advice(None, [gpu_lost])
    assert len(shown[1:3]) == 2


def test_a_line_that_the_rank_survived_explains_no_exception() -> None:
    survived = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    tail = [survived, "Traceback (most recent call last):", "ValueError: x"]
    first = {"rank": 0, "exit_code": 1, "signal": None, "message": "ValueError: x", "log_tail": tail}
    shown = report.explanation(judge([run("node0", "failed", first=first, world_size=2)]))
    assert not set(shown) & set(advice(None, [survived]))
    answer = {"failed": True, "msg": "failed: rank 0: ValueError: x"}
    _why, lines = report.not_started(read_infos([("node0", {**answer, "log_tail": tail})]), None)
    assert not set(lines) & set(advice(None, [survived]))


def test_a_known_line_of_a_node_that_did_not_start_is_explained() -> None:
    no_gpus = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'
    answer = {"failed": True, "msg": "node2: no container", "why": "no container", "log_tail": [no_gpus]}
    _why, lines = report.not_started(read_infos([RUNS_ON_0, ("node2", answer)]), None)
    assert [line for line in lines if line in advice(None, [no_gpus])] == advice(None, [no_gpus])
