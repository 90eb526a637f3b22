# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that exit early, hang or never meet, as nodes report them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results import causes
from ansible_collections.muster.train.plugins.plugin_utils._results.awaited import awaited
from ansible_collections.muster.train.plugins.plugin_utils._results.causes import Failure
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import Verdict
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge as _judge

GLOO = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:60820"
TIMEOUT = "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation"


def failure(rank: int, code: int | None = None, signal: str | None = None, **more: Any) -> dict[str, Any]:
    return {"rank": rank, "exit_code": code, "signal": signal, "time": 100.0, **more}


def failed(node: str, *failures: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"node": node, "phase": "failed", "first": failures[0], "failures": list(failures), **more}


def run(node: str, phase: str, **more: Any) -> dict[str, Any]:
    rank = int(node[-1])
    place = {"node": node, "node_rank": rank, "nproc": 2, "world_size": 4, "first_rank": 2 * rank}
    return {**place, "phase": phase, "started": "2026-11-20T14:30:52Z", **more}


def judge(*runs: dict[str, Any]) -> Verdict:
    return _judge([RunRecord.from_dict(run) for run in runs])


def cause_of(*runs: dict[str, Any]) -> Failure | None:
    records = [RunRecord.from_dict(run) for run in runs]
    return awaited(records, causes.ordered(records))


def test_ranks_that_exited_early_are_what_the_others_waited_for() -> None:
    peer = failed("n0", failure(0, 1, message=GLOO), exited_ranks=[1], running_ranks=[])
    cause = cause_of(peer, {"node": "n1", "phase": "stopped", "exited_ranks": [3, 2], "running_ranks": []})
    assert cause is not None
    assert cause.text == "n0: rank 1 exited with code 0 while other ranks were waiting; so did ranks 2-3 on n1"
    assert (cause.cause.node, cause.cause.rank, cause.cause.exit_code) == ("n0", 1, 0)


def test_the_only_rank_that_neither_failed_nor_noticed_hangs() -> None:
    noticed = failure(1, signal="SIGTERM", log_tail=[GLOO])
    silent = failure(3, signal="SIGTERM", log_tail=["step 11"])
    late = failure(2, 1, message=GLOO)
    parts = [
        failed("n0", failure(0, 1, message=TIMEOUT), noticed, running_ranks=[1]),
        failed("n1", late, silent, running_ranks=[3]),
    ]
    cause = cause_of(*parts)
    assert cause is not None
    assert cause.text.startswith("n1: rank 3 was still running when the other ranks had timed out waiting")
    assert cause.tail == ["step 11"]


@pytest.mark.parametrize(
    ("message", "running"), [(GLOO, [1]), (TIMEOUT, [1, 2]), (TIMEOUT, []), ("ValueError: no such layer", [1])]
)
def test_no_rank_is_blamed_without_evidence(message: str, running: list[int]) -> None:
    assert cause_of(failed("n0", failure(0, 1, message=message), running_ranks=running)) is None


def test_a_rank_that_failed_by_itself_is_the_cause_although_others_exited() -> None:
    assert cause_of(failed("n0", failure(0, 1, message="ValueError: no such layer"), exited_ranks=[1])) is None


def test_a_success_of_ranks_that_never_met_says_so() -> None:
    verdict = judge(run("node0", "succeeded", alone=True), run("node1", "succeeded"))
    assert verdict.verdict == "succeeded"
    assert str(verdict.why).startswith("succeeded, but no rank joined a process group, so each worked alone: ")


def test_a_rank_that_exited_early_is_the_cause_of_a_failed_run() -> None:
    end = {"verdict": "failed", "why": "rank 0 failed", "node": "node0", "rank": 0}
    parts = [
        run("node0", "failed", first=failure(0, 1, message=GLOO), end=end),
        run("node1", "stopped", exited_ranks=[2], running_ranks=[3], end=end),
    ]
    verdict = judge(*parts)
    assert (verdict.verdict, verdict.node, verdict.rank) == ("failed", "node1", 2)
    assert [text.split(": ")[:2] for text in verdict.consequences] == [["node0", "rank 0 exited with code 1"]]
