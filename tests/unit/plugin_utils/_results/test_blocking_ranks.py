# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that exit early, hang or never meet, as nodes report them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results import causes
from ansible_collections.muster.train.plugins.plugin_utils._results.blocking_ranks import find_blocking_ranks
from ansible_collections.muster.train.plugins.plugin_utils._results.causes import Cause, Failure
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
    return find_blocking_ranks(records, causes.ordered(records))


EXITED = [
    failed("n0", failure(0, 1, message=GLOO), exited_ranks=[1], running_ranks=[]),
    {"node": "n1", "phase": "stopped", "exited_ranks": [3, 2], "running_ranks": []},
]
HANGING = [
    failed("n0", failure(0, 1, message=TIMEOUT), failure(1, signal="SIGTERM", log_tail=[GLOO]), running_ranks=[1]),
    failed("n1", failure(2, 1, message=GLOO), failure(3, signal="SIGTERM", log_tail=["step 11"]), running_ranks=[3]),
]
ALONE = [run("node0", "succeeded", alone=True), run("node1", "succeeded")]


def test_ranks_that_exited_early_are_what_the_others_waited_for() -> None:
    cause = cause_of(*EXITED)
    assert cause is not None
    assert cause.cause == Cause("n0", 1, 0)


def test_the_only_rank_that_neither_failed_nor_noticed_hangs() -> None:
    cause = cause_of(*HANGING)
    assert cause is not None
    assert (cause.cause, cause.tail) == (Cause("n1", 3), ["step 11"])


@pytest.mark.parametrize(
    ("message", "running"), [(GLOO, [1]), (TIMEOUT, [1, 2]), (TIMEOUT, []), ("ValueError: no such layer", [1])]
)
def test_no_rank_is_blamed_without_evidence(message: str, running: list[int]) -> None:
    assert cause_of(failed("n0", failure(0, 1, message=message), running_ranks=running)) is None


def test_a_rank_that_failed_by_itself_is_the_cause_although_others_exited() -> None:
    assert cause_of(failed("n0", failure(0, 1, message="ValueError: no such layer"), exited_ranks=[1])) is None


def test_a_rank_that_exited_early_is_the_cause_of_a_failed_run() -> None:
    end = {"verdict": "failed", "why": "rank 0 failed", "node": "node0", "rank": 0}
    parts = [
        run("node0", "failed", first=failure(0, 1, message=GLOO), end=end),
        run("node1", "stopped", exited_ranks=[2], running_ranks=[3], end=end),
    ]
    verdict = judge(*parts)
    assert (verdict.verdict, verdict.node, verdict.rank) == ("failed", "node1", 2)
    assert len(verdict.consequences) == 1


HANG = {
    "collective": {"group": "default_pg", "op": "all_reduce", "seq": 7, "last": 7, "is_pending": True},
    "waiting": [0, 1, 2],
    "absent": [3],
    "node": "node1",
}
STOPPED = [
    run("node0", "stopped", hang=HANG, end={"verdict": "failed", "why": "node1: hung: …", "node": "node1", "rank": 3}),
    run("node1", "stopped"),
]


def test_a_run_that_was_stopped_because_it_hung_failed_by_the_absent_rank() -> None:
    verdict = judge(*STOPPED)
    assert (verdict.verdict, verdict.node, verdict.rank) == ("failed", "node1", 3)
    assert verdict.cause is not None
    assert verdict.cause.exit_code is None


def test_the_rank_that_a_run_hung_for_explains_the_timeouts_of_the_others() -> None:
    cause = cause_of({**HANGING[0], "hang": {**HANG, "node": "n1"}}, HANGING[1])
    assert cause is not None
    assert (cause.cause.node, cause.cause.rank) == ("n1", 3)


def test_a_rank_that_failed_by_itself_is_the_cause_although_the_run_hung_before() -> None:
    failed_itself = failed("n0", failure(0, 1, message="ValueError: bad"), hang=HANG)
    assert cause_of(failed_itself, {"node": "n1", "phase": "stopped"}) is None
