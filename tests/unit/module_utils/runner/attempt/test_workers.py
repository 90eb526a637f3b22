# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rank of a program failed, by what torch prints of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import RankFailure
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.workers import Workers
from ansible_collections.muster.train.tests.support.jobs import make_job

RAISED = """\
torch.multiprocessing.spawn.ProcessRaisedException:

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "train.py", line 30, in work
    raise ValueError("the loss is not a number")
ValueError: the loss is not a number
"""
PREFIXED = """\
[rank2]:[W1120 14:30:52 ProcessGroupNCCL.cpp:4115] warning
[rank3]: Traceback (most recent call last):
[rank3]:   File "train.py", line 30, in <module>
[rank3]: ValueError: the loss is not a number
"""
TABLE = """\
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_14:30:52
  host      : node1
  rank      : 3 (local_rank: 1)
  exitcode  : -9 (pid: 1234)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 1234
"""


def failures(tmp_path: Path, text: str, ranks: Sequence[int] = (), nproc: int = 2) -> list[RankFailure]:
    job = make_job(tmp_path, ["train"], launcher="exec", nnodes=2, nproc=nproc, first_rank=nproc)
    workers = Workers()
    for line in text.splitlines():
        workers.feed(line, 1.0)
    return workers.failures(job, ranks)


@pytest.mark.parametrize(
    "text", [RAISED, PREFIXED, RAISED + "Traceback (most recent call last):\nOSError: of a logger\n"]
)
def test_a_rank_that_raised_is_named_with_its_exception(tmp_path: Path, text: str) -> None:
    (failure,) = failures(tmp_path, text)
    assert (failure.rank, failure.exit_code, failure.time) == (3, 1, 1.0)
    assert failure.log_tail[-1] == "ValueError: the loss is not a number"


@pytest.mark.parametrize(
    ("text", "exit_code", "number"),
    [
        (TABLE, None, "SIGKILL"),
        (
            "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGKILL",
            None,
            "SIGKILL",
        ),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with exit code 7", 7, None),
    ],
)
def test_a_rank_that_ended_is_named_with_its_end(
    tmp_path: Path, text: str, exit_code: int | None, number: str | None
) -> None:
    (failure,) = failures(tmp_path, text)
    assert (failure.rank, failure.exit_code, failure.signal) == (3, exit_code, number)


def test_a_process_is_the_rank_that_the_program_reported_where_that_is_not_the_plans(tmp_path: Path) -> None:
    assert [failure.rank for failure in failures(tmp_path, RAISED, ranks=[2, 3], nproc=1)] == [3]
    assert failures(tmp_path, RAISED, nproc=1) == []


def test_other_output_names_no_rank(tmp_path: Path) -> None:
    assert failures(tmp_path, "rank 3 exited\n[rank3]: step 7\nTraceback (most recent call last):\nValueError") == []


def test_of_chained_exceptions_the_last_counts(tmp_path: Path) -> None:
    chain = "\nDuring handling of the above exception, another exception occurred:\n\n"
    last = 'Traceback (most recent call last):\n  File "train.py", line 32, in work\nOSError: the disk is full\n'
    (failure,) = failures(tmp_path, f"{RAISED}{chain}{last}ValueError: of a logger\n")
    assert failure.log_tail[-1] == "OSError: the disk is full"


def test_what_fails_after_a_stop_request_is_no_failure(tmp_path: Path) -> None:
    workers = Workers()
    for moment, line in enumerate(RAISED.splitlines()):
        workers.feed(line, float(moment))
    job = make_job(tmp_path, ["train"], launcher="exec", nnodes=2, nproc=2, first_rank=2)
    assert workers.failures(job, (), before=2.0) == []
    assert [failure.rank for failure in workers.failures(job, (), before=3.0)] == [3]
