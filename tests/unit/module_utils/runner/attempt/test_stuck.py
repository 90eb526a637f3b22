# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that raised an exception and do not end: in real processes, to the end of the attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of

# As torch prints what nothing has caught; a program may print the same without a rank, and go on.
PRINTED = """import sys, threading, time
lines = ["Traceback (most recent call last):", '  File "train.py", line 5, in <module>', "ValueError: no label"]
print(*(PREFIX + line for line in lines), sep="\\n", flush=True)
"""


def program(prefix: str, then: str) -> list[str]:
    return ["python3", "-u", "-c", f"PREFIX = {prefix!r}\n{PRINTED}{then}"]


@pytest.mark.slow
def test_a_rank_that_hangs_after_its_exception_ends_the_run(tmp_path: Path) -> None:
    job = make_job(tmp_path, program("[rank0]: ", "time.sleep(600)"), launcher="python", nproc=1, traceback_grace=12)
    assert spawn(job).wait(60) == 1
    state = state_of(job)
    assert (state["phase"], state["first"]["rank"], state["first"]["exception"]) == ("failed", 0, "ValueError")
    assert [(warning["kind"], warning["rank"]) for warning in state["warnings"]] == [("raised", 0)]


@pytest.mark.slow
@pytest.mark.parametrize(("prefix", "grace"), [("", 12), ("[rank0]: ", 0)], ids=["printed by the program", "no limit"])
def test_others_are_left_alone(tmp_path: Path, prefix: str, grace: int) -> None:
    job = make_job(tmp_path, program(prefix, "time.sleep(20)"), launcher="python", nproc=1, traceback_grace=grace)
    assert spawn(job).wait(60) == 0
    assert state_of(job)["phase"] == "succeeded"
