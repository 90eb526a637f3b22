# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that raised an exception and do not end: by their output, and in real processes to the end of the attempt."""

from __future__ import annotations

import selectors
import time
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.output import Output, make_pipes
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.stuck import find_stuck
from ansible_collections.muster.train.plugins.module_utils.runner.disk import DiskThread
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of

# As torch prints what nothing has caught; a program may print the same without a rank, and go on.
PRINTED = """import sys, threading, time
lines = ["Traceback (most recent call last):", '  File "train.py", line 5, in <module>', "ValueError: no label"]
print(*(PREFIX + line for line in lines), sep="\\n", flush=True)
"""


TRACEBACK = """[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 5, in <module>
[rank1]: ValueError: no label
"""
ASIDE = "Exception in thread Thread-1 (load):\n" + TRACEBACK
AGO_S = 300.0


@pytest.mark.parametrize(
    ("text", "after", "rank"),
    [
        pytest.param(TRACEBACK, [], 1, id="nothing after it"),
        pytest.param(TRACEBACK, [(0, "step 7")], 1, id="a step that another rank was making"),
        pytest.param(TRACEBACK, [(0, f"step {step}") for step in (98, 99, 0, 1)], None, id="steps of another rank"),
        pytest.param(ASIDE, [], None, id="a thread's"),
    ],
)
def test_a_rank_whose_node_goes_on_is_not_stuck(
    text: str, after: list[tuple[int, str]], rank: int | None, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    pipes = make_pipes(str(tmp_path), 2)
    output = Output(str(tmp_path), range(2), None, pipes, 1 << 20, DiskThread(), selectors.DefaultSelector())
    output.logs[1].feed(text.encode(), time.time() - AGO_S)
    for number, (printing, line) in enumerate(after):
        output.logs[printing].feed(f"{line}\n".encode(), time.time() - AGO_S + 30 * number + 1)
    stuck = find_stuck(output)
    output.close()
    assert (stuck.rank if stuck else None) == rank


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
