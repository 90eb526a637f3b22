# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches that are put into the queue of a real Slurm cluster, whose users can reach its nodes by srun only."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import slurm_cluster
from ansible_collections.muster.train.tests.support.cluster import RUN_ID
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import Played
from ansible_collections.muster.train.tests.support.slurm_cluster import NODES, SlurmCluster
from ansible_collections.muster.train.tests.support.slurm_nodes import LONG, SlurmNodes

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(slurm_cluster.missing() is not None, reason=str(slurm_cluster.missing())),
]
# One rank on each node without torchrun, where a test is not about the ranks.
LIGHT: dict[str, Any] = {"launcher": "python", "nproc": 1}
ALL = "--nodes=4", "--gpus-per-node=2", "--exclusive"
CALLBACK = "muster.train.brief"


@pytest.fixture
def queue(slurm: SlurmCluster, tmp_path: Path) -> Iterator[SlurmNodes]:
    """The cluster as a user has it who has no allocation."""
    made = SlurmNodes(tmp_path, slurm=slurm, job="")
    yield made
    slurm.run("scancel", "--user=root")
    wait_for(lambda: not slurm.run("squeue", "--noheader").strip(), "no job is left")
    made.destroy()


@pytest.fixture
def full(queue: SlurmNodes) -> SlurmNodes:
    """The same cluster, with all nodes allocated to another job."""
    queue.slurm.allocate(*ALL)
    return queue


def submit(nodes: SlurmNodes, **parameters: Any) -> Played:
    return nodes.verb("submit", **{"run_id": RUN_ID, "nnodes": 4, "gpus": 2, **parameters})


def job_of(nodes: SlurmNodes) -> str:
    return str(json.loads((nodes.experiments / RUN_ID / "job.json").read_text())["job"])


def document(nodes: SlurmNodes, verb: str, **parameters: Any) -> dict[str, Any]:
    """Return the document of a verb."""
    words = "-e", json.dumps({"output": "json", **parameters})
    done = nodes.play(f"playbooks/{verb}.yml", *words, apart=True, ANSIBLE_STDOUT_CALLBACK=CALLBACK)
    read: dict[str, Any] = json.loads(done.out)
    return {**read, "rc": done.rc}


def status_of(nodes: SlurmNodes) -> dict[str, Any]:
    return document(nodes, "status", run_id=RUN_ID)


def test_a_submitted_launch_runs_and_is_collected(queue: SlurmNodes) -> None:
    assert submit(queue, channels=42, time="10m").rc == 0
    # From another shell, through the queue to the end.
    done = queue.verb("follow", run_id=RUN_ID)
    assert done.rc == 0, done.out
    plan = json.loads((queue.experiments / RUN_ID / "plan.json").read_text())
    assert (plan["run_id"], plan["nodes"], plan["world_size"]) == (RUN_ID, list(NODES), 8)
    assert (plan["parameters"]["channels"]["value"], plan["parameters"]["channels"]["layer"]) == (42, "extra_vars")
    assert {job["starter"] for job in plan["jobs"].values()} == {"slurm"}
    record = queue.record()
    assert (record["verdict"], record["exit_codes"]) == ("succeeded", dict.fromkeys(NODES, 0))
    assert sorted(path.name for path in (queue.experiments / RUN_ID / "nodes").iterdir())
    assert queue.slurm.state(job_of(queue)) == "COMPLETED"
    assert (queue.experiments / RUN_ID / "job.exit").read_text() == "0\n"
    known = status_of(queue)
    assert (known["rc"], known["job"]["state"], known["job"]["verdict"]) == (0, "COMPLETED", "succeeded")


def test_the_script_is_shown_and_nothing_is_submitted(queue: SlurmNodes) -> None:
    words = "--check", "-e", json.dumps({"run_id": RUN_ID, "nnodes": 2, "output": "json", "time": "1h"})
    done = queue.play("playbooks/submit.yml", *words, apart=True, ANSIBLE_STDOUT_CALLBACK=CALLBACK)
    script = json.loads(done.out)["script"]
    assert {f"#SBATCH --job-name={RUN_ID}", "#SBATCH --nodes=2", "#SBATCH --time=1:00:00"} <= {*script.splitlines()}
    assert queue.slurm.run("squeue", "--noheader") == ""
    assert not (queue.experiments / RUN_ID).exists()


def test_a_job_that_waits_is_shown_listed_and_stopped(full: SlurmNodes) -> None:
    assert submit(full).rc == 0
    job = job_of(full)
    wait_for(
        lambda: document(full, "status", run_id=RUN_ID)["job"]["reason"] == "Resources", "Slurm has judged the job"
    )
    [listed] = document(full, "list")["experiments"]
    assert (listed["run_id"], listed["verdict"]) == (RUN_ID, "queued")
    assert submit(full).rc != 0  # a run is one job
    assert full.verb("logs", run_id=RUN_ID).rc != 0
    stopped = full.verb("stop", run_id=RUN_ID)
    assert stopped.rc == 0, stopped.out
    assert full.slurm.state(job) == "CANCELLED"
    assert full.record()["verdict"] == "stopped"
    assert full.verb("stop", run_id=RUN_ID).rc == 0


def test_a_run_that_is_stopped_is_collected_and_ends_its_job(queue: SlurmNodes) -> None:
    assert submit(queue, **LIGHT, **LONG).rc == 0
    queue.wait_phase(RUN_ID, "running")
    wait_for((queue.experiments / RUN_ID / "plan.json").exists, "the launch has recorded the run")
    stopped = queue.verb("stop", run_id=RUN_ID)
    assert stopped.rc == 0, stopped.out
    assert queue.slurm.run("squeue", "--noheader") == ""
    assert (queue.record()["verdict"], set(queue.record()["exit_codes"])) == ("stopped", set(NODES))
    assert queue.processes() == []


def test_a_job_is_ended_whose_launch_has_not_started_the_run(queue: SlurmNodes) -> None:
    """As where its nodes do not answer: here srun itself does not."""
    held = queue.home / "bin"
    held.mkdir()
    (held / "srun").write_text("#!/bin/sh\nexec sleep 600\n")
    (held / "srun").chmod(0o755)
    words = "-e", json.dumps({"run_id": RUN_ID, "nnodes": 1})
    assert queue.play("playbooks/submit.yml", *words, PATH=f"{held}:{os.environ['PATH']}").rc == 0
    wait_for(lambda: queue.slurm.state(job_of(queue)) == "RUNNING", "the job runs")
    status = status_of(queue)
    assert (status["rc"], status["job"]["state"], status["job"]["verdict"]) == (0, "RUNNING", "queued")
    assert queue.verb("stop", run_id=RUN_ID).rc == 0
    assert queue.slurm.state(job_of(queue)) == "CANCELLED"
    assert queue.record()["verdict"] == "stopped"


def test_another_shell_goes_on_where_the_first_one_was_killed(queue: SlurmNodes) -> None:
    assert submit(queue, **LIGHT, script_args=["--seconds", "30"]).rc == 0
    shell = queue.begin("follow")
    queue.wait_phase(RUN_ID, "running")
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    wait_for((queue.experiments / RUN_ID / "plan.json").exists, "the launch has recorded the run")
    status = status_of(queue)
    assert [node["phase"] for node in status["nodes"]] == ["running"] * 4
    assert status["job"]["id"] == job_of(queue)
    assert "gpu04/rank3 | rank 3 of 4 begins" in queue.verb("logs", run_id=RUN_ID).out
    assert queue.verb("collect", run_id=RUN_ID).rc == 0
    assert queue.verb("follow", run_id=RUN_ID).rc == 0
    assert queue.record()["verdict"] == "succeeded"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"partition": "gpux"}, ("gpux", "expected one of gpu")),
        ({"nnodes": 5}, ("expected at most 4", "saw 5")),
        ({"gpus": 9}, ("sbatch",)),
        ({"time": "90"}, ("90m",)),
        ({"sbatch_options": ["--job-name=mine"]}, ("--job-name",)),
    ],
)
def test_a_job_that_can_never_start_is_refused(
    queue: SlurmNodes, parameters: dict[str, Any], words: tuple[str, ...]
) -> None:
    done = submit(queue, **parameters)
    assert done.rc != 0
    assert all(word in done.words for word in words), done.out
    assert queue.slurm.run("squeue", "--noheader") == ""
    assert not (queue.experiments / RUN_ID).exists()


def test_a_launch_that_is_refused_in_its_job_is_a_failed_run(queue: SlurmNodes) -> None:
    assert submit(queue, nnodes=1, script="missing.py").rc == 0
    done = queue.verb("follow", run_id=RUN_ID)
    assert done.rc != 0
    assert "missing.py" in done.words
    assert queue.record()["verdict"] == "failed"
    # Slurm forgets jobs: then the experiment still knows.
    known = queue.experiments / RUN_ID / "job.json"
    known.write_text(known.read_text().replace(f'"{job_of(queue)}"', '"999999"'))
    status = status_of(queue)
    assert (status["rc"], status["job"]["state"], status["job"]["verdict"]) == (0, "FAILED", "failed")


def first_steps(folder: Path) -> int:
    """Return how often rank 0 has begun, by its metrics."""
    lines = [line for path in folder.rglob("rank_00_metrics.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(line)["step"] for line in lines].count(1)


def test_a_run_goes_on_after_a_node_was_drained(queue: SlurmNodes) -> None:
    until, shared = queue.home / "end", queue.home / "shared"
    shared.mkdir()
    queue.policy["launch_shared_output_dir"] = str(shared)
    queue.write()
    assert submit(queue, nnodes=2, **LIGHT, script_args=["--seconds", "90", "--until", str(until)]).rc == 0
    queue.wait_phase(RUN_ID, "running", "gpu01", "gpu02")
    wait_for((queue.experiments / RUN_ID / "plan.json").exists, "the launch has recorded the run")
    drained = ["scontrol", "update", "NodeName=gpu02"]
    queue.slurm.run(*drained, "State=DRAIN", "Reason=test")
    try:
        queue.slurm.run("scontrol", "requeue", job_of(queue))
        # Where the rank would find its checkpoint, it finds what the first attempt has left.
        wait_for(lambda: first_steps(shared) == 2, "the second attempt has begun")
        until.touch()
        assert queue.verb("follow", run_id=RUN_ID).rc == 0
    finally:
        queue.slurm.run(*drained, "State=RESUME")
    record = queue.record()
    assert (record["verdict"], len(record["attempts"])) == ("succeeded", 1)
    assert "gpu02" not in record["nodes"]


def test_a_run_that_is_preempted_saves_and_goes_on(queue: SlurmNodes) -> None:
    until, shared = queue.home / "end", queue.home / "shared"
    shared.mkdir()
    queue.policy["launch_shared_output_dir"] = str(shared)
    queue.write()
    assert submit(queue, **LIGHT, script_args=["--seconds", "90", "--until", str(until)]).rc == 0
    queue.wait_phase(RUN_ID, "running")
    wait_for((queue.experiments / RUN_ID / "plan.json").exists, "the launch has recorded the run")
    urgent = queue.slurm.submit("--partition=urgent", *ALL)
    # The ranks get SIGTERM, and their nodes write how they ended, before Slurm kills what is left.
    queue.wait_phase(RUN_ID, "stopped", seconds=slurm_cluster.GRACE_S)
    wait_for(lambda: queue.slurm.state(urgent) == "RUNNING", "the urgent job runs")
    assert status_of(queue)["job"]["state"] == "PENDING"
    queue.slurm.cancel(urgent)
    wait_for(lambda: first_steps(shared) == 2, "the second attempt has begun")
    # Else its own failure would look like the next preemption.
    assert "PreemptTime=None" in queue.slurm.run("scontrol", "show", "job", job_of(queue))
    until.touch()
    assert queue.verb("follow", run_id=RUN_ID).rc == 0
    assert (queue.record()["verdict"], len(queue.record()["attempts"])) == ("succeeded", 1)


def test_words_of_options_arrive_whole(queue: SlurmNodes) -> None:
    """In the lines of the script: sbatch gets them on its command line as well."""
    comment = "it's # two words"
    words = "--check", "-e", json.dumps({"nnodes": 1, "output": "json", "sbatch_options": [f"--comment={comment}"]})
    done = queue.play("playbooks/submit.yml", *words, apart=True, ANSIBLE_STDOUT_CALLBACK=CALLBACK)
    lines = [line for line in json.loads(done.out)["script"].splitlines() if "--output" not in line]
    script = queue.home / "script.sh"
    script.write_text("\n".join(["#!/bin/sh", *(line for line in lines if line.startswith("#SBATCH")), "true\n"]))
    job = queue.slurm.run("sbatch", "--parsable", "--hold", "--output=/dev/null", str(script)).strip()
    shown = queue.slurm.run("scontrol", "show", "job", job)
    assert f"Comment={comment}" in shown
    assert shlex.quote(f"--comment={comment}") in "\n".join(lines)
