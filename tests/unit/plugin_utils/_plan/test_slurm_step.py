# SPDX-License-Identifier: GPL-3.0-or-later
"""A run in a Slurm allocation: its starter, its step, whose tasks become the runners, and the end of its time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.layout import step_command
from ansible_collections.muster.train.plugins.module_utils._runs.starters.slurm import Slurm
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding
from ansible_collections.muster.train.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.muster.train.plugins.plugin_utils._plan.slurm_step import WAIT, WAITING, PlannedStep, steps_of
from ansible_collections.muster.train.tests.support.cases import outcomes
from ansible_collections.muster.train.tests.support.jobs import make_job, wait_for
from ansible_collections.muster.train.tests.support.plan_parts import NONCE, node, nodes, policy, refused, request


def in_step(number: int) -> dict[str, Any]:
    """The step of a job that a node's facts were gathered in."""
    return {"job": "12", "step": str(number), "node": f"gpu{number:02d}", "is_tracked": True}


def plan(**cluster: Any) -> dict[str, Any]:
    return make_plan(
        request(2), policy(**cluster), [node(number, srun_job="12", slurm=in_step(number)) for number in range(2)]
    )


def test_in_steps_of_a_job_the_runners_are_one_step() -> None:
    made = plan(slurm_kill_wait=30)
    assert {job["starter"] for job in made["jobs"].values()} == {"slurm"}
    assert made["jobs"]["node1"]["slurm"] == {"job": "12", "node": "gpu01", "kill_wait": 30}
    [step] = steps_of(made)
    assert (step.job, step.name, step.nodes) == ("12", f"muster-{NONCE[:8]}", ["gpu00", "gpu01"])
    assert {"--jobid=12", "--nodes=2", "--nodelist=gpu00,gpu01"} <= {*step.argv}
    files = [step_command(job["run_dir"], NONCE) for job in made["jobs"].values()]
    assert step.argv[-2:] == [f"gpu00={files[0]}", f"gpu01={files[1]}"]


def doubled() -> list[PlannedStep]:
    made = plan()
    made["jobs"]["node1"]["slurm"] = made["jobs"]["node0"]["slurm"]
    return steps_of(made)


def test_a_slurm_node_can_be_one_node_only() -> None:
    with pytest.raises(UserError):
        doubled()


def test_without_slurm_there_is_no_step() -> None:
    assert steps_of(make_plan(request(2), policy(), nodes(2))) == []


def test_the_task_of_a_node_becomes_its_runner(tmp_path: Path) -> None:
    """The shell waits, and then runs the words that the module has written: any words, as they are."""
    job = make_job(tmp_path, ["true"])
    Path(job.run_dir).mkdir(parents=True, exist_ok=True)
    file = step_command(job.run_dir, job.nonce)
    words = ["gpu01=/other", f"gpu02={file}"]
    task = subprocess.Popen(
        ["/bin/sh", "-c", WAIT, "muster", "600", *words],
        env={**os.environ, "SLURMD_NODENAME": "gpu02"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert Slurm().start(Host(), job, ["/usr/bin/env", "A=$HOME 'x'", "/bin/sh", "-c", 'echo "$A $$"']) is None
    printed, _error = task.communicate(timeout=30)
    assert printed == f"{WAITING} gpu02\n"
    assert (Path(job.run_dir) / "runner.log").read_text() == f"$HOME 'x' {task.pid}\n"
    assert Path(file).read_text() == f"{task.pid}\n"


def test_a_runner_that_ends_before_it_begins_is_noticed(tmp_path: Path) -> None:
    job, host, slurm = make_job(tmp_path, ["true"]), Host(), Slurm()
    Path(job.run_dir).mkdir(parents=True, exist_ok=True)
    assert slurm.ended(host, job, None) is None
    slurm.start(host, job, ["/bin/sh", "-c", "read end"])
    assert slurm.ended(host, job, None) is None
    words = ["/bin/sh", "-c", WAIT, "muster", "600", f"gpu02={step_command(job.run_dir, job.nonce)}"]
    environment = {**os.environ, "SLURMD_NODENAME": "gpu02"}
    task = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    wait_for(lambda: Path(f"/proc/{task.pid}/cmdline").read_bytes().endswith(b"read end\0"), "the runner runs")
    assert slurm.ended(host, job, None) is None
    task.communicate(b"\n", timeout=30)
    assert slurm.ended(host, job, None)


def test_a_task_whose_runner_never_comes_ends(tmp_path: Path) -> None:
    words = ["/bin/sh", "-c", WAIT, "muster", "1", f"gpu02={tmp_path}/command"]
    done = subprocess.run(words, env={**os.environ, "SLURMD_NODENAME": "gpu02"}, timeout=30, check=False)
    assert done.returncode == 1


# The request is of 14:30:52; 120 s of the time that is left are for the start and the end.
@pytest.mark.parametrize(
    ("end", "asked", "limit"),
    [
        ("", None, 0),
        ("", 100, 100),
        ("2026-11-20T14:40:52Z", None, 480),
        ("2026-11-20T14:40:52Z", 100, 100),
        ("2026-11-20T14:40:52Z", 481, 480),
    ],
)
def test_a_run_ends_before_the_allocation(end: str, asked: int | None, limit: int) -> None:
    launch = request(2, **({} if asked is None else {"time_limit": asked}))
    made = make_plan(launch, policy(slurm_end=end), nodes(2))
    assert made["jobs"]["node0"]["time_limit"] == limit
    assert made["parameters"]["time_limit"]["value"] == (limit or None)


ENDS = ("2026-11-20T14:32:52Z", "2026-11-20T14:00:00Z")


def without_time(end: str) -> list[Finding]:
    return refused(request(2), policy(slurm_end=end), nodes(2))


@pytest.mark.parametrize("end", ENDS)
def test_a_run_that_has_no_time_is_refused(end: str) -> None:
    assert outcomes(without_time(end)) == [("time_limit", None, "fail")]
