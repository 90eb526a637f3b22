# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs in the queue: which one is a run, and what is said of those that wait."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._slurm.job import SlurmJob, parse_jobs
from ansible_collections.muster.train.plugins.plugin_utils._slurm.queue import fix_of, of_run

RUN_ID = "train_20261120_143052_3f9a"
LINES = {
    "ended": f"7|COMPLETED|None|gpu[01-02]|1796004120|1796004720|10:00|{RUN_ID}\n",
    "running": f"9|RUNNING|None|gpu[01-02]|1796004120|1796004720|10:00|{RUN_ID}\n",
    "newer": f"12|FAILED|None|gpu[01-02]|1796004120|1796004720|10:00|{RUN_ID}\n",
}


def job_of_run(*names: str, run_id: object = RUN_ID) -> str | None:
    def run(argv: Sequence[str]) -> str:
        assert argv[-1] == f"--name={RUN_ID}"
        return "".join(LINES[name] for name in names)

    job = of_run(run_id, run)
    return job.number if job else None


def test_a_run_is_the_job_of_its_name() -> None:
    assert job_of_run("ended") == "7"
    assert job_of_run("ended", "running") == "9"
    assert job_of_run() is None


@pytest.mark.parametrize("run_id", [None, "", 7, "train,other", "../x", "--user=root"])
def test_what_is_no_run_id_is_not_asked_for(run_id: object) -> None:
    assert job_of_run("running", run_id=run_id) is None


@pytest.mark.parametrize(
    ("reason", "helps"),
    [
        ("Resources", False),
        ("Priority", False),
        ("BeginTime", False),
        ("JobHeldUser", True),
        ("PartitionTimeLimit", True),
        ("ReqNodeNotAvail, UnavailableNodes:gpu01", True),
    ],
)
def test_a_job_that_would_wait_forever_has_a_fix(reason: str, helps: bool) -> None:
    [job] = parse_jobs(f"8|PENDING|{reason}||N/A|N/A|UNLIMITED|train\n")
    assert (fix_of(job) is not None) is helps


def test_a_job_has_ended_when_nothing_of_it_is_left() -> None:
    states = ("PENDING", "RUNNING", "COMPLETING", "COMPLETED", "CANCELLED", "NODE_FAIL", "REQUEUED", "SUSPENDED")
    jobs = [SlurmJob("1", state, "None", "gpu01", None, None, "x") for state in states]
    assert [job.state for job in jobs if job.has_ended] == ["COMPLETED", "CANCELLED", "NODE_FAIL"]
