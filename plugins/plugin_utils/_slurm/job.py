# SPDX-License-Identifier: GPL-3.0-or-later
"""A job as Slurm's own commands print it. They need no accounting database."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

# The name comes last, as it may contain anything. With TIMES, times are seconds since the epoch.
FORMAT = "%A|%T|%r|%N|%S|%e|%l|%j"
TIMES = "SLURM_TIME_FORMAT=%s"
# squeue(1), JOB STATE CODES: steps run on the job's nodes, or it waits: for its nodes, for them to boot, or for someone
# to let it go on. In every other state it has ended.
RUNS = ("RUNNING", "SIGNALING", "RESIZING")
WAITS = (
    *("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"),
    *("CONFIGURING", "SUSPENDED", "STOPPED"),
)
# What is left of it is being ended, or its data is copied.
ENDS = ("COMPLETING", "STAGE_OUT")
# The allocation of a group of nodes, by scontrol show job --details.
_DETAIL = re.compile(r"^ *Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*)", re.MULTILINE)
_GPUS = re.compile(r"(?:^|,)gpu(?::[^:,()]+)?:([0-9]{1,4})(?=[(,]|$)")

_KILL_WAIT = re.compile(r"^KillWait *= *([0-9]{1,6}) sec", re.MULTILINE)


@frozen
class SlurmJob:
    """A job; nodes is Slurm's list of them, empty without any. Times are seconds since the epoch, None if unknown.

    reason is why it waits; start is an estimate while it does.
    """

    number: str
    state: str
    reason: str
    nodes: str
    start: int | None
    end: int | None
    name: str

    @property
    def has_nodes(self) -> bool:
        """Whether its nodes can be used."""
        return self.state in RUNS and bool(self.nodes)

    @property
    def has_ended(self) -> bool:
        """Whether its nodes are free of it."""
        return self.state not in (*RUNS, *WAITS, *ENDS)

    @property
    def waits(self) -> bool:
        """Whether its nodes cannot be used yet."""
        return self.state in WAITS


def parse_jobs(text: str) -> list[SlurmJob]:
    """Return the jobs that squeue has printed in FORMAT; what is not such a line is left out."""
    jobs = []
    for line in text.splitlines():
        fields = line.split("|", 7)
        if len(fields) == 8:
            number, state, reason, nodes, start, end, limit, name = fields
            # Without a limit the end is a year away.
            until = None if limit == "UNLIMITED" else _seconds(end)
            jobs.append(SlurmJob(number, state, reason, nodes, _seconds(start), until, name))
    return jobs


def parse_gpus(text: str) -> dict[str, int]:
    """Return how many GPUs the job has on each group of its nodes, from scontrol show job --details."""
    gpus: dict[str, int] = {}
    for nodes, resources in _DETAIL.findall(text):
        gpus[nodes] = gpus.get(nodes, 0) + sum(int(count) for count in _GPUS.findall(resources))
    return gpus


def parse_kill_wait(text: str) -> int | None:
    """Return the seconds between SIGTERM and SIGKILL when a job is ended, from scontrol show config."""
    match = _KILL_WAIT.search(text)
    return int(match[1]) if match else None


def job_of_environment(environment: Mapping[str, str]) -> str | None:
    """Return the job in whose allocation this environment is, as of salloc or a batch script; None outside of any."""
    return environment.get("SLURM_JOB_ID") if environment.get("SLURM_JOB_NODELIST") else None


def _seconds(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None
