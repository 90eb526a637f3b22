# SPDX-License-Identifier: GPL-3.0-or-later
"""The allocation of a job as an inventory: its nodes in their order, and what a launch there needs to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.module_utils._text.stamps import utc

from .._findings.errors import UserError, display
from .command import RunCommand
from .host_list import expand_host_list
from .job import SlurmJob, job_of_environment, parse_gpus, parse_kill_wait
from .queue import describe_wait, find_by_id, find_by_name, newest, of_run

# How a controller reaches the nodes: by steps of the job, by ssh, or by files that it shares with them.
SRUN, SSH, LOCAL = "srun", "ssh", "local"
# On the controller no run of a job may start: this starter needs steps of the job, and the plan refuses it without.
BY_CONNECTION: dict[str, dict[str, Any]] = {
    SRUN: {"ansible_connection": "muster.train.srun"},
    SSH: {},
    LOCAL: {"ansible_connection": "local", "launch_starter": "slurm"},
}
NO_ALLOCATION = (
    "there is no allocation: SLURM_JOB_ID is not set; start inside salloc, put the launch into the queue "
    "(muster.train.submit), name a submitted run (-e run_id=RUN_ID), or give the job with job_id or job_name "
    "(MUSTER_SLURM_JOB_ID, MUSTER_SLURM_JOB_NAME)"
)


@frozen
class Allocation:
    """The nodes, head first, the variables of all of them, and the job's ID, by which the next commands find it;
    note says why there are no nodes."""

    nodes: Sequence[str]
    variables: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None
    job: str | None = None


@frozen
class Wanted:
    """Which allocation is wanted: by the number of its job, by the job's name, as a list of nodes, or that of a run.

    run_id may be anything that a user has typed. What is left of a run whose job has ended needs no nodes.
    """

    job_id: str | None = None
    job_name: str | None = None
    node_list: str | None = None
    run_id: object = None


def find_allocation(wanted: Wanted, connection: str, environment: Mapping[str, str], run: RunCommand) -> Allocation:
    """Return the allocation that is wanted, by default that of the environment; raise UserError without one."""
    if wanted.node_list and connection != SRUN:
        return Allocation(_nodes(wanted.node_list), BY_CONNECTION[connection])
    try:
        submitted = None if wanted.job_id or wanted.job_name else of_run(wanted.run_id, run)
        job = submitted or _find_job(wanted, environment, run)
    except UserError as error:
        if wanted.run_id is None:
            raise
        return Allocation([], note=str(error))
    if job is None:
        return Allocation([], note=NO_ALLOCATION)
    if job.waits and not (connection == LOCAL and job.nodes):
        return Allocation([], note=describe_wait(job))
    if not (job.has_nodes or (connection == LOCAL and job.nodes)):
        if wanted.run_id is None:
            raise UserError(_describe_end(job))
        return Allocation([], note=_describe_end(job))
    number = None if submitted else job.number
    if connection == LOCAL:
        return Allocation(_nodes(job.nodes), BY_CONNECTION[LOCAL], job=number)
    gpus = parse_gpus(run(["scontrol", "show", "job", "--details", job.number]))
    kill_wait = parse_kill_wait(run(["scontrol", "show", "config"]))
    variables = {
        **BY_CONNECTION[connection],
        **({"ansible_srun_job": job.number} if connection == SRUN else {}),
        **({} if job.end is None else {"launch_slurm_end": utc(job.end)}),
        **({} if kill_wait is None else {"launch_slurm_kill_wait": kill_wait}),
        **_ranks(gpus),
    }
    return Allocation(_nodes(job.nodes), variables, job=number)


def _find_job(wanted: Wanted, environment: Mapping[str, str], run: RunCommand) -> SlurmJob | None:
    number = wanted.job_id or (None if wanted.job_name else job_of_environment(environment))
    if number is not None:
        jobs = find_by_id(number, run)
        if not jobs:
            raise UserError(
                f"job {clean(number)} is not known to Slurm, or has ended long ago; list yours with squeue --me"
            )
        if len(jobs) > 1:
            raise UserError(f"{clean(number)} is {len(jobs)} jobs: expected one; list yours with squeue --me")
        return jobs[0]
    if wanted.job_name is None:
        return None
    jobs = newest(find_by_name(wanted.job_name, run))
    if len(jobs) != 1:
        saw = f"jobs {', '.join(job.number for job in jobs)}" if jobs else "none"
        raise UserError(
            f"expected one job of this user with the name {display(wanted.job_name)}, saw {saw}; give job_id"
        )
    return jobs[0]


def _nodes(text: str) -> list[str]:
    names = expand_host_list(text)
    if len(set(names)) < len(names):
        raise UserError(f"{display(text)} has a node twice; expected every node once")
    return names


def _ranks(gpus: Mapping[str, int]) -> dict[str, Any]:
    """Return one rank per allocated GPU as the default, where all nodes have the same number of them."""
    counts = set(gpus.values())
    return {"launch_defaults": {"nproc": counts.pop()}} if len(counts) == 1 and counts != {0} else {}


def _describe_end(job: SlurmJob) -> str:
    left = "; what its runs left in a shared work directory is read with connection: local" if job.nodes else ""
    return f"job {job.number} has ended ({job.state}): expected one that runs{left}"
