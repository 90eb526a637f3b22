# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what the user reads: tables, summaries, explanations, logs."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress, RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results import report
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.rows import duration, losses
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge
from ansible_collections.muster.train.plugins.plugin_utils._text.spans import spans

RUN_ID = "multinode_42ch_256th_20261120_143052"


def run(node: str, phase: str, rank: int = 0, **more: Any) -> RunRecord:
    progress = {"step": 400, "total_steps": 400, "first_loss": 5.5512, "loss": 1.9301, "tokens_per_s": 41234.5}
    record: dict[str, Any] = {"node": node, "node_rank": rank, "phase": phase, "nproc": 2, "world_size": 4}
    record.update(first_rank=2 * rank, progress=progress, elapsed_s=31.2, why=None, run_dir=f"/w{rank}/runs/{RUN_ID}")
    return RunRecord.from_dict({**record, **more})


def test_status_table() -> None:
    runs = [run("node0", "succeeded"), run("node1", "failed", 1, progress=None, why="rank 3 killed by SIGSEGV")]
    assert report.status_table(runs, 100) == [
        "node   node rank  phase      ranks  step     loss          tokens/s  elapsed  why",
        "node0  0          succeeded  0-1    400/400  5.55 -> 1.93  41,234    31 s",
        "node1  1          failed     2-3                                     31 s     rank 3 killed by SIGSEGV",
    ]


def test_the_row_of_a_failed_node_names_the_rank_that_failed_by_itself() -> None:
    victim = {
        "rank": 0,
        "exit_code": None,
        "signal": "SIGTERM",
        "message": "gloo: Connection closed by peer",
        "time": 1,
    }
    cause = {"rank": 1, "exit_code": 7, "signal": None, "message": None, "time": 2}
    why = "rank 0 killed by SIGTERM: gloo: Connection closed by peer"
    rows = report.status_table([run("node0", "failed", why=why, first=victim, failures=[victim, cause])], 100)
    assert rows[1].endswith("31 s     rank 1 exited with code 7")


def test_a_node_that_did_not_answer_is_a_row() -> None:
    infos = read_infos(
        [("node0", {"run": run("node0", "running").to_dict()}), ("node1", {"unreachable": True, "msg": "no route"})]
    )
    assert report.status_table(_report_runs(infos), 100)[2].split() == ["node1", "unreachable", "no", "route"]


def _report_runs(infos: Any) -> list[RunRecord]:
    return [info.run for info in infos]


def test_remarks_on_a_run() -> None:
    stale = run("node0", "running", alive=True, heartbeat_age_s=40.0, left=3, log_dropped=1024)
    text = " ".join(report.status_table([stale], 300)[1].split())
    assert "nothing written for 40 s: its storage is full or does not answer; 3 processes are left over" in text
    assert text.endswith("; run stop to end them; 1024 bytes of log were dropped")
    stalled = run("node0", "running", alive=True, stalled=[{"node": "node1", "seconds": 37}])
    assert "storage does not answer: node1 for 37 s" in report.status_table([stalled], 300)[1]
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
    text = " ".join(report.status_table([row], 200)[1].split())
    assert ("may lock only 8192 KiB of memory, though its unit asks for no limit" in text) is shown


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


def test_summary() -> None:
    runs = [run("node0", "succeeded"), run("node1", "succeeded", 1)]
    assert report.summary(RUN_ID, judge(runs), runs) == (
        f"{RUN_ID}  succeeded · 4 ranks on 2 nodes · loss 5.55 -> 1.93 · 31 s"
    )
    one = [run("node0", "waiting", nproc=1, world_size=1, progress=None, elapsed_s=None)]
    assert report.summary(RUN_ID, judge(one), one) == f"{RUN_ID}  waiting · 1 rank on 1 node"
    mute = [run("node0", "succeeded", nproc=1, world_size=1, progress=None)]
    assert report.summary(RUN_ID, judge(mute), mute).startswith(
        f"{RUN_ID}  succeeded, no metrics reported · 1 rank on "
    )
    nothing = [RunRecord(node="node0", phase="not_found", why="x")]
    assert report.summary(None, judge(nothing), nothing) == "no run  not_found"


def test_ranks_that_a_program_starts_are_those_that_it_reports() -> None:
    runs = [run("node0", "succeeded", ranks=[0, 1, 2, 5]), run("node1", "succeeded", 1, ranks=[3, 4])]
    assert report.summary(RUN_ID, judge(runs), runs).startswith(f"{RUN_ID}  succeeded · 6 ranks on 2 nodes · ")
    assert " 0-2, 5 " in report.status_table(runs, 120)[1]
    assert spans([5, 0, 2, 1]) == "0-2, 5"
    assert report.no_such_rank(runs, {"value": 5, "origin": "-e rank"}) is None
    assert report.no_such_rank(runs, {"value": 6, "origin": "-e rank"}) is not None
    silent = [run("node0", "succeeded", ranks=[], progress=None), run("node1", "succeeded", 1, ranks=[], progress=None)]
    assert "no reported ranks on 2 nodes" in report.summary(RUN_ID, judge(silent), silent)


def test_explanation_of_a_failure() -> None:
    tail = [f"line {number}" for number in range(30)]
    first = {"rank": 3, "exit_code": None, "signal": "SIGSEGV", "time": 2.0, "log_tail": tail}
    peer = {"rank": 0, "exit_code": 1, "signal": None, "message": "gloo: Connection closed by peer", "time": 1.0}
    verdict = judge(
        [
            run("node0", "failed", first=peer),
            run("node1", "failed", 1, first=first, progress={"step": 9, "total_steps": 400}),
        ]
    )
    assert report.explanation(verdict) == [
        "  node1: rank 3 killed by SIGSEGV",
        "    then node0: rank 0 exited with code 1: gloo: Connection closed by peer",
        "  last lines of node1/rank3:",
        *(f"    | line {number}" for number in range(15, 30)),
    ]


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
    failures = [{"rank": rank, "exit_code": rank + 1, "signal": None, "time": rank} for rank in range(12)]
    verdict = judge([run("node0", "failed", first=failures[0], failures=failures)])
    lines = report.explanation(verdict)
    assert len(lines) == 10
    assert lines[-1] == "    and 3 more"


def test_nothing_to_explain() -> None:
    assert report.explanation(judge([run("node0", "succeeded"), run("node1", "succeeded", 1)])) == []


def test_places() -> None:
    runs = [run(f"node{rank}", "succeeded", rank) for rank in range(6)]
    assert report.places([*runs[:1], run("node1", "not_found")], "experiments/x") == [
        ("experiment", "experiments/x"),
        ("on node0", f"/w0/runs/{RUN_ID}"),
    ]
    assert report.places(runs, None)[-1] == ("and", "on 2 more nodes")


def test_not_started() -> None:
    held = "slot 'default' is held by run multinode_1ch_64th_20261120_100000 (launch 0a1b2c3d) on node1"
    infos = read_infos(
        [
            ("node0", {"run": run("node0", "running").to_dict()}),
            ("node1", {"failed": True, "msg": f"node1: {held}", "why": held, "log_tail": ["last word"]}),
            ("node2", {"unreachable": True, "msg": "no route"}),
        ]
    )
    why, lines = report.not_started(infos, None)
    assert why == f"node1: {held}"
    assert lines == [
        f"  node1: {held}",
        "  node2: answer: no route; expected an answer (Ansible); try it: ssh node2",
        "  last lines of node1/-:",
        "    | last word",
    ]


def test_not_started_blames_no_victim() -> None:
    infos = read_infos(
        [
            ("node0", {"failed": True, "msg": "failed: rank 0 exited with code 1", "likeness": 4}),
            ("node1", {"unreachable": True, "msg": "no route"}),
            ("node2", {"failed": True, "msg": "failed: rank 2: gloo: Connection closed by peer", "likeness": 0}),
        ]
    )
    assert [line.split(":")[0].strip() for line in report.not_started(infos, None)[1]] == ["node2", "node1", "node0"]


def test_not_started_keeps_why_the_others_did_not_begin() -> None:
    """As where a spare had not started either, which fails no launch; only this message has the reason."""
    infos = read_infos(
        [
            ("node0", {"run": run("node0", "failed").to_dict()}),
            ("node2", {"failed": True, "msg": "node2: no space", "why": "no space"}),
        ]
    )
    assert report.not_started(infos, "node0: cannot start train") == (
        "node2: no space",
        ["  node2: no space", "  node0: cannot start train"],
    )


def test_not_started_although_all_started() -> None:
    infos = read_infos([("node0", {"run": run("node0", "running").to_dict()})])
    assert report.not_started(infos, None) == ("every node had started, a later task failed", [])
    assert report.not_started(infos, "node1 did not join") == ("node1 did not join", [])
