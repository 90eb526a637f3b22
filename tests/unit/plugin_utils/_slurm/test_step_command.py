# SPDX-License-Identifier: GPL-3.0-or-later
"""The command lines of steps: complete by themselves, whatever salloc has set."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._slurm.step_command import (
    on_all_nodes,
    on_node,
    srun,
    without_exit_codes,
)

SALLOC = {
    "SLURM_JOB_ID": "7",
    "SLURM_NNODES": "4",
    "SLURM_CONF": "/etc/slurm.conf",
    "SRUN_EXPORT_ENV": "ALL",
    "SBATCH_ACCOUNT": "train",
    "SBATCH_ARRAY_INX": "1-3",
    "SBATCH_WAIT": "1",
    "SBATCH_WAIT_ALL_NODES": "1",
    "A": "1",
}


def test_srun_takes_nothing_from_the_shell_but_where_the_cluster_is() -> None:
    line = srun(["HOME", "PATH"], SALLOC)
    removed = [line[index + 1] for index, word in enumerate(line) if word == "-u"]
    assert removed == ["SBATCH_ARRAY_INX", "SBATCH_WAIT", "SLURM_JOB_ID", "SLURM_NNODES", "SRUN_EXPORT_ENV"]
    assert line[-3:] == ["SLURM_EXIT_ERROR=255", "srun", "--export=HOME,PATH"]


def test_a_command_on_a_node_is_one_task_beside_others() -> None:
    options = on_node("7", "gpu02")
    assert {"--jobid=7", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=gpu02"} <= {*options}
    assert options[-1] == "--"


def test_the_step_of_a_run_outlives_its_tasks_and_nodes() -> None:
    options = on_all_nodes("7", ["gpu01", "gpu02"], "muster-0000")
    assert {"--nodes=2", "--ntasks=2", "--nodelist=gpu01,gpu02", "--job-name=muster-0000"} <= {*options}
    assert {"--kill-on-bad-exit=0", "--no-kill", "--wait=0", "--cpu-bind=none"} <= {*options}


def test_only_the_lines_of_srun_about_the_end_of_a_task_are_removed() -> None:
    printed = b"mine\nsrun: error: gpu02: task 0: Exited with exit code 7\nsrun: error: gpu02: task 0: Killed\n"
    other = b"srun: error: Unable to confirm allocation for job 99: Invalid job id specified\n"
    assert without_exit_codes(printed + other) == b"mine\n" + other
