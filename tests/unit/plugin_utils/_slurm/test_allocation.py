# SPDX-License-Identifier: GPL-3.0-or-later
"""Allocations as inventories, from what Slurm's commands print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._slurm.allocation import Allocation, Wanted, find_allocation

RUNNING = "7|RUNNING|None|gpu[01-02]|1796004120|1796004720|10:00|train\n"
ENDLESS = "7|RUNNING|None|gpu[01-02]|1796004120|1827540120|UNLIMITED|train\n"
WAITING = "8|PENDING|Resources||1796004720|N/A|UNLIMITED|train\n"
UNKNOWN_START = "8|PENDING|Priority||N/A|N/A|UNLIMITED|train\n"
BOOTING = "8|CONFIGURING|None|gpu[01-02]|1796004120|1827540120|UNLIMITED|train\n"
SUSPENDED = "8|SUSPENDED|None|gpu[01-02]|1796004120|1827540120|UNLIMITED|train\n"
STAGING_OUT = "8|STAGE_OUT|None|gpu[01-02]|1796004120|1827540120|UNLIMITED|train\n"
ENDED = "6|CANCELLED|None|gpu[01-02]|1796004000|1796004100|10:00|train\n"
NEVER_RAN = "6|CANCELLED|None||1796004000|1796004100|10:00|train\n"
GPUS = "     Nodes=gpu[01-02] CPU_IDs=0-7 Mem=0 GRES=gpu:h100:2(IDX:0-1)\n"
MIXED = "Nodes=gpu01 CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0-1)\nNodes=gpu02 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:0)\n"
KILL_WAIT = {"launch_slurm_kill_wait": 30}
RUN_ID = "train_20261120_143052_3f9a"
SHELL = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "gpu[01-02]"}


class Slurm:
    """What Slurm's commands print, and which were run."""

    def __init__(self, queue: str, details: str = "") -> None:
        self._texts = {"squeue": queue, "scontrol": f"{details}KillWait                = 30 sec\n"}
        self.calls: list[list[str]] = []

    def run(self, argv: Sequence[str]) -> str:
        self.calls.append(list(argv))
        return self._texts[argv[0]]


def allocation(
    queue: str,
    details: str = "",
    environment: Mapping[str, str] | None = None,
    connection: str = "srun",
    **wanted: str,
) -> Allocation:
    return find_allocation(Wanted(**wanted), connection, environment or {}, Slurm(queue, details).run)


def test_the_nodes_of_the_shell_in_their_order() -> None:
    here = allocation(RUNNING, GPUS, SHELL)
    assert here == allocation(RUNNING, GPUS, job_id="7")
    assert (here.nodes, here.job) == (["gpu01", "gpu02"], "7")
    assert here.variables == {
        "ansible_connection": "muster.train.srun",
        "ansible_srun_job": "7",
        "launch_slurm_end": "2026-11-30T02:12:00Z",
        "launch_slurm_kill_wait": 30,
        "launch_defaults": {"nproc": 2},
    }


@pytest.mark.parametrize("details", ["", MIXED, "Nodes=gpu[01-02] CPU_IDs=0 Mem=0 GRES=\n"])
def test_without_one_number_of_gpus_the_facts_decide(details: str) -> None:
    variables = allocation(ENDLESS, details, job_id="7").variables
    assert variables == {"ansible_connection": "muster.train.srun", "ansible_srun_job": "7", **KILL_WAIT}


def test_the_given_job_wins_over_that_of_the_shell() -> None:
    slurm = Slurm(RUNNING)
    find_allocation(Wanted(job_id="12"), "srun", SHELL, slurm.run)
    find_allocation(Wanted(job_name="train"), "srun", SHELL, slurm.run)
    asked = [call for call in slurm.calls if call[0] == "squeue"]
    assert asked[0][-1] == "--jobs=12,12"
    assert asked[1][-1] == "--name=train"


def test_of_a_name_the_job_that_has_not_ended_counts() -> None:
    assert allocation(ENDED + RUNNING, job_name="train").nodes == ["gpu01", "gpu02"]


WAITS = (WAITING, UNKNOWN_START, BOOTING, SUSPENDED)


@pytest.mark.parametrize("queue", WAITS)
def test_a_job_that_waits_has_no_nodes(queue: str) -> None:
    waiting = allocation(queue, job_id="8")
    assert (waiting.nodes, waiting.variables) == ([], {})
    assert waiting.note


def test_without_an_allocation_there_are_no_nodes() -> None:
    nowhere = allocation(RUNNING)
    assert (nowhere.nodes, nowhere.variables) == ([], {})
    assert nowhere.note


def test_the_job_of_a_submitted_run_wins_over_that_of_the_shell() -> None:
    slurm = Slurm(RUNNING, GPUS)
    of_run = find_allocation(Wanted(run_id=RUN_ID), "srun", SHELL, slurm.run)
    assert slurm.calls[0][-1] == f"--name={RUN_ID}"
    # The next commands find it by the run, too.
    assert (of_run.nodes, of_run.job) == (["gpu01", "gpu02"], None)


def test_a_run_that_was_not_submitted_is_in_the_allocation_of_the_shell() -> None:
    def run(argv: Sequence[str]) -> str:
        return "" if argv[-1].startswith("--name=") else Slurm(RUNNING, GPUS).run(argv)

    assert find_allocation(Wanted(run_id=RUN_ID), "srun", SHELL, run).job == "7"


@pytest.mark.parametrize("wanted", [Wanted(run_id=RUN_ID), Wanted(job_id="6", run_id=RUN_ID)])
@pytest.mark.parametrize("queue", [ENDED, ""])
def test_what_is_left_of_a_run_needs_no_nodes(wanted: Wanted, queue: str) -> None:
    left = find_allocation(wanted, "srun", {}, Slurm(queue).run)
    assert left.nodes == []
    assert left.note


def test_by_ssh_and_on_shared_files() -> None:
    by_ssh = allocation(RUNNING, job_id="7", connection="ssh")
    assert by_ssh.variables == {"launch_slurm_end": "2026-11-30T02:12:00Z", **KILL_WAIT}
    local = {"ansible_connection": "local", "launch_starter": "slurm"}
    assert allocation(ENDED, job_id="6", connection="local") == Allocation(["gpu01", "gpu02"], local, job="6")
    # Without Slurm.
    assert allocation("", connection="local", node_list="gpu[01-02]") == Allocation(["gpu01", "gpu02"], local)


CASES: dict[str, Callable[[], Any]] = {
    "a job that is not known": lambda: allocation("", job_id="99"),
    "an array": lambda: allocation(RUNNING + WAITING, job_id="7"),
    "a job that has ended": lambda: allocation(ENDED, job_id="6"),
    "a job that has ended but for its data": lambda: allocation(STAGING_OUT, job_id="8"),
    "a job that never ran": lambda: allocation(NEVER_RAN, job_id="6"),
    "a name without a job": lambda: allocation("", job_name="train"),
    "a name of two jobs": lambda: allocation(RUNNING + WAITING, job_name="train"),
    "a node twice": lambda: allocation("", connection="local", node_list="n1,n1"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_not_one_allocation_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        CASES[name]()
