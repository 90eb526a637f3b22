# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner on storage as clusters have it: shared by nodes, without locks, without room, cleaned by others."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.tests.support import no_flock
from ansible_collections.muster.train.tests.support.jobs import make_job, prepare, spawn, state_of, wait_for

pytestmark = pytest.mark.slow


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


SLEEP = python("import time; time.sleep(600)")


def runs(job: Job) -> bool:
    return bool(state_of(job).get("phase") == "running")


def why_refused(job: Job) -> str:
    return str(json.loads(Path(job.run_dir, f"refused.{job.nonce}.json").read_text())["why"])


@pytest.mark.skipif(no_flock.missing() is not None, reason=str(no_flock.missing()))
def test_without_flock_the_refusal_says_so(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("pass"))
    assert spawn(job, inside=no_flock.command()).wait(60) == 3
    assert why_refused(job).startswith(f"{job.run_dir}/lock ")
    assert state_of(job) == {}


def test_the_job_of_another_node_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("pass"))
    command = ["env", "MUSTER_NODE=NODE0", *prepare(job)]
    assert subprocess.run(command, timeout=60, check=False).returncode == 3
    assert why_refused(job).startswith(f"{job.run_dir} has the job of node0, another node; give each")
    assert Path(job.run_dir, f"private.{job.nonce}.json").exists(), "the other node needs it"


def test_nodes_that_share_a_work_directory_run_side_by_side(tmp_path: Path) -> None:
    jobs = [make_job(tmp_path, SLEEP, node=f"node{number}") for number in range(2)]
    runners = [spawn(job) for job in jobs]
    for job in jobs:
        wait_for(partial(runs, job), f"{job.node} runs")
    assert [state_of(job)["node"] for job in jobs] == ["node0", "node1"]
    for runner in runners:
        runner.terminate()
        runner.wait(60)
    assert [state_of(job)["phase"] for job in jobs] == ["stopped", "stopped"]
