# SPDX-License-Identifier: GPL-3.0-or-later
"""What a program leaves in its run's directories costs its run nothing: a real runner, every kind, every reader."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.paths import Rooted
from ansible_collections.muster.train.plugins.module_utils._host.removal import remove_tree
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.tests.support import hostile_files
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of

METRICS, EVENTS = "rank_00_metrics.jsonl", "events.out.tfevents.1700000000.host"
# What the runner reads beside a program's own metrics: a trainer's files, checkpoints, logs.
OTHERS = (
    *("metrics.csv", EVENTS, "checkpoints", "other"),
    *("../logs/nccl.host.1.log", "../errors/other", "../logs/rank_00.previous.log"),
)


def run_to_end(tmp_path: Path, *arguments: str) -> tuple[str, str | None]:
    """Run the program that makes hostile files, and remove the run; return the phase that the runner left, and why."""
    argv = [sys.executable, hostile_files.__file__, *arguments]
    job = make_job(tmp_path, argv, launcher="python")
    outputs = Variable("MUSTER_OUTPUT_DIR", job.output_dir, "muster", "")
    with spawn(replace(job, environment=[*job.environment, outputs])) as runner:
        try:
            runner.wait(60)
        finally:
            runner.kill()
    state = state_of(job)
    assert remove_tree(Rooted("/"), job.run_dir) is None
    assert not Path(job.run_dir).exists()
    return state["phase"], state["why"]


def test_a_run_succeeds_although_its_files_cannot_be_read(tmp_path: Path) -> None:
    arguments = (f"fifo={METRICS}", f"ones={EVENTS}", "link=metrics.csv", "deep=checkpoints", "names=other")
    assert run_to_end(tmp_path, *arguments) == ("succeeded", None)


@pytest.mark.slow
@pytest.mark.parametrize("places", [[METRICS], OTHERS], ids=["metrics", "others"])
@pytest.mark.parametrize("kind", hostile_files.KINDS)
def test_a_run_succeeds_whatever_its_program_leaves(tmp_path: Path, kind: str, places: list[str]) -> None:
    assert run_to_end(tmp_path, *(f"{kind}={place}" for place in places)) == ("succeeded", None)
