# SPDX-License-Identifier: GPL-3.0-or-later
"""The step of a Slurm job: by its control groups, in both versions, and by its variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.system import SlurmStep
from ansible_collections.muster.train.plugins.module_utils._system.slurm import parse_slurm_groups, read_slurm
from ansible_collections.muster.train.tests.support.machines import Machine

# Of Slurm 22.05 on Debian 12: slurmd -N gpu02 with proctrack/cgroup, and task/cgroup for the memory.
VERSION_1 = """\
8:pids:/
6:freezer:/slurm_gpu02/uid_1000/job_12/step_3
4:memory:/slurm_gpu02/uid_1000/job_12/step_3/task_0
1:cpu:/
0::/
"""
# As Slurm's documentation has it (cgroup_v2.html).
VERSION_2 = "0::/system.slice/slurmstepd.scope/job_12/step_3/user/task_0\n"
EXTERN = "0::/system.slice/slurmstepd.scope/job_12/step_extern/user/task_special\n"
OUTSIDE = "0::/user.slice/user-1000.slice/session-3.scope\n"
STEP = {"SLURM_JOB_ID": "12", "SLURM_STEP_ID": "3", "SLURMD_NODENAME": "gpu02"}
V1 = "/sys/fs/cgroup/memory/slurm_gpu02/uid_1000/job_12"
V2 = "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_12"
GIB = 1 << 30

CASES: list[tuple[str, dict[str, str], dict[str, str], SlurmStep | None]] = [
    (VERSION_1, {}, STEP, SlurmStep("12", "3", "gpu02", True)),
    (
        VERSION_1,
        {f"{V1}/step_3/memory.limit_in_bytes": "9223372036854771712\n", f"{V1}/memory.limit_in_bytes": f"{4 * GIB}\n"},
        STEP,
        SlurmStep("12", "3", "gpu02", True, 4 * GIB),
    ),
    (
        VERSION_2,
        {f"{V2}/step_3/memory.max": f"{2 * GIB}\n", f"{V2}/memory.max": "max\n"},
        STEP,
        SlurmStep("12", "3", "gpu02", True, 2 * GIB),
    ),
    (EXTERN, {}, {}, SlurmStep("12", "extern", None, True)),
    (OUTSIDE, {}, STEP, SlurmStep("12", "3", "gpu02", False)),
    # The shell of salloc is in no step.
    (OUTSIDE, {}, {"SLURM_JOB_ID": "12"}, None),
    ("", {}, {}, None),
]


@pytest.mark.parametrize(("groups", "files", "environment", "step"), CASES)
def test_the_step_of_this_process(
    tmp_path: Path, groups: str, files: dict[str, str], environment: dict[str, str], step: SlurmStep | None
) -> None:
    machine: dict[str, Any] = {"files": {"/proc/self/cgroup": groups, **files}, "environment": environment}
    assert read_slurm(Machine(machine, tmp_path)) == step


@pytest.mark.parametrize("text", ["", "0::/job_1", "x:y", "6:freezer:/slurm/job_/step_1", "6:f:/s/job_1/step_\n"])
def test_other_text_has_no_step(text: str) -> None:
    assert parse_slurm_groups(text) == []
