# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a launcher ended, from what torch leaves behind."""

from __future__ import annotations

import json

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.cause import judge_rank, likeliest_first
from ansible_collections.muster.train.plugins.module_utils._records.run import RankFailure
from ansible_collections.muster.train.plugins.module_utils.runner.attempt import launcher_failure, launcher_report

RECORDED = {
    "message": {
        "message": "ValueError: no such layer",
        "extraInfo": {
            "py_callstack": "Traceback (most recent call last):\n  ...\nValueError: no such layer\n",
            "timestamp": "1795000000",
        },
    }
}


REPORT = json.dumps([{"rank": 2, "local_rank": 0, "code": 1, "time": 5, "error": RECORDED}]).encode()


def test_a_recorded_exception() -> None:
    (first,) = launcher_report.failures(REPORT)
    traceback = ["Traceback (most recent call last):", "  ...", "ValueError: no such layer"]
    status = {"rank": 2, "local_rank": 0, "exit_code": 1, "message": "ValueError: no such layer", "time": 1795000000.0}
    assert first == RankFailure.from_dict({**status, "traceback": traceback})


def test_a_signal_without_a_message() -> None:
    first = launcher_failure.describe(
        {"rank": 0, "local_rank": 0, "code": -9, "time": 7.0, "error": {"message": "<NONE>"}}
    )
    assert (first.signal, first.exit_code, first.time, first.message) == ("SIGKILL", None, 7.0, None)


def test_ranks_that_torchrun_ended_come_last() -> None:
    codes = {0: -15, 1: 3, 2: -15}
    report = [{"rank": rank, "local_rank": rank, "code": code, "time": 7} for rank, code in codes.items()]
    failures = launcher_report.failures(json.dumps(report).encode())
    judged = likeliest_first(judge_rank(failure, failures) for failure in failures)
    assert [failure.rank for failure in judged] == [1, 0, 2]


@pytest.mark.parametrize("data", [b"", b"not json", b"{}", b"[1, 2]", b"null"])
def test_an_invalid_report_has_no_failures(data: bytes) -> None:
    assert launcher_report.failures(data) == []


def test_a_signal_without_a_name() -> None:
    assert launcher_failure.split_status(-77) == (None, "signal 77")


def test_ranks_that_torchrun_killed_at_a_stop() -> None:
    report = b'[{"killed": 1}, {"killed": "x"}, {"rank": 2, "code": -15}, 7]'
    assert launcher_report.killed_ranks(report, 4) == ["5"]
    assert [failure.rank for failure in launcher_report.failures(report)] == [2]
    assert launcher_report.killed_ranks(b"{", 4) == launcher_report.killed_ranks(b"3", 4) == []
