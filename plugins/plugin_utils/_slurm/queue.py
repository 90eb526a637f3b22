# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs in Slurm's queue: found by their ID or name, and why one waits. A submitted run is the name of its job."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._text.stamps import utc

from .._request.run_id import check as check_run_id
from .command import RunCommand
from .job import FORMAT, SlurmJob, parse_jobs

SQUEUE = ("squeue", "--noheader", "--states=all", f"--format={FORMAT}")
# Why a job will not start by itself, by the words of squeue(1), JOB REASON CODES, and what helps.
FIXES = {
    "AccountNotAllowed": "give an account that the partition takes: -e account=NAME",
    "BadConstraints": "no node meets its constraints: submit it with others, or ask for less",
    "DependencyNeverSatisfied": "what it depends on has failed: stop it, and submit it again",
    "InvalidAccount": "give one of your accounts: -e account=NAME",
    "InvalidQOS": "give a QOS that your account has: -e qos=NAME",
    "JobHeldAdmin": "an administrator holds it: ask them",
    "JobHeldUser": "let it go on: scontrol release {job}",
    "PartitionDown": "the partition starts nothing: give another with -e partition=NAME, or ask its administrators",
    "PartitionInactive": "the partition starts nothing: give another with -e partition=NAME, or ask its administrators",
    "PartitionNodeLimit": "it asks for more nodes than the partition gives a job: submit it with a smaller -e nnodes=N",
    "PartitionTimeLimit": "it asks for more time than the partition gives a job: submit it with a smaller -e time=TIME",
    "ReqNodeNotAvail": "a node that it needs is down or reserved: see sinfo --list-reasons",
    "ReservationDeleted": "its reservation is gone: submit it with another, or without",
}


def find_by_id(number: str, run: RunCommand) -> list[SlurmJob]:
    """Return the jobs of an ID, of which an array has several; none where Slurm has forgotten it."""
    # Of a single ID that it does not know, squeue fails; of several, it leaves that one out.
    return parse_jobs(run([*SQUEUE, f"--jobs={number},{number}"]))


def find_by_name(name: str, run: RunCommand) -> list[SlurmJob]:
    """Return this user's jobs of a name, also those that have ended a short while ago."""
    return parse_jobs(run([*SQUEUE, f"--user={os.geteuid()}", f"--name={name}"]))


def newest(jobs: Sequence[SlurmJob]) -> list[SlurmJob]:
    """Return the jobs that have not ended, else the one that squeue lists first."""
    return [job for job in jobs if job.has_nodes or job.waits] or list(jobs[:1])


def of_run(run_id: object, run: RunCommand) -> SlurmJob | None:
    """Return the job that a run was submitted as; None where it was not, or Slurm has forgotten it."""
    try:
        name = check_run_id(str(run_id))
    except ValueError:
        return None
    return max(newest(find_by_name(name, run)), key=lambda job: int(job.number), default=None)


def describe_wait(job: SlurmJob) -> str:
    """Return why a job waits, in one line, with what to do where it would wait forever."""
    if job.nodes:
        return (
            f"job {job.number} has its nodes, but runs nothing on them now ({job.state}); see squeue --job={job.number}"
        )
    start = "unknown" if job.start is None else utc(job.start)
    fix = fix_of(job)
    return f"job {job.number} has no nodes yet: it waits ({job.reason}); estimated start: {start}" + (
        f"; {fix}" if fix else ""
    )


def fix_of(job: SlurmJob) -> str | None:
    """Return what to do about a job that will not start by itself, None where it is only not its turn."""
    # Some reasons continue with names: ReqNodeNotAvail, UnavailableNodes:gpu01
    words = job.reason.split(",", 1)
    fix = FIXES.get(words[0].strip())
    return fix and fix.format(job=job.number)
