# SPDX-License-Identifier: GPL-3.0-or-later
"""The step of a Slurm job that this process is in, and what the job's control groups allow it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from .._host import sysfs
from .._host.host import Host
from .._host.live import LiveHost
from .._records.frozen import frozen
from .._records.system import SlurmStep

MOUNT = "/sys/fs/cgroup"
# slurmstepd's control groups: slurm[_NODE]/uid_UID/job_ID/step_STEP in version 1, ….scope/job_ID/step_STEP/… in 2.
_STEP = re.compile(r"^[0-9]+:([^:\n]*):(/[^\n]*/job_([0-9]{1,10})/step_([0-9a-z]{1,16}))(?:/|$)", re.MULTILINE)
_NUMBER = re.compile(r"[0-9]{1,18}")
# What version 1 has for no limit: the largest number of pages.
NO_LIMIT = 1 << 60


@frozen
class SlurmGroup:
    """A control group of a step: its path below the folder of its controllers, which has no name in version 2."""

    controllers: str
    path: str
    job: str
    step: str


def parse_slurm_groups(text: str) -> list[SlurmGroup]:
    """Return the control groups of /proc/PID/cgroup (cgroups(7)) that are those of a Slurm step."""
    return [SlurmGroup(*groups) for groups in _STEP.findall(text)]


def step_of(groups: list[SlurmGroup], environment: Mapping[str, str]) -> SlurmStep | None:
    """Return the step by its control groups, or by its variables where Slurm makes none."""
    if groups:
        job, step = groups[0].job, groups[0].step
    elif "SLURM_JOB_ID" in environment and "SLURM_STEP_ID" in environment:
        job, step = environment["SLURM_JOB_ID"], environment["SLURM_STEP_ID"]
    else:
        return None
    # A login that was taken into the job does not have the variable.
    return SlurmStep(job, step, environment.get("SLURMD_NODENAME"), is_tracked=bool(groups))


def read_slurm(host: LiveHost) -> SlurmStep | None:
    """Return the step that this process is in, None outside of any."""
    groups = parse_slurm_groups(host.read_text("/proc/self/cgroup") or "")
    step = step_of(groups, host.environment())
    if step is None:
        return None
    limits = [limit for group in groups for limit in _memory_limits(host, group)]
    return SlurmStep(step.job, step.step, step.node, step.is_tracked, min(limits, default=None))


def _memory_limits(host: Host, group: SlurmGroup) -> list[int]:
    """Return the limits of memory of the step and of its job, in bytes."""
    if group.controllers not in ("", "memory"):
        return []
    name = "memory.limit_in_bytes" if group.controllers else "memory.max"
    folders = (group.path, os.path.dirname(group.path))
    texts = [sysfs.text(host, f"{MOUNT}/{group.controllers}{folder}/{name}") or "" for folder in folders]
    numbers = [int(text) for text in texts if _NUMBER.fullmatch(text)]
    return [number for number in numbers if number < NO_LIMIT]
