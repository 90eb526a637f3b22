# SPDX-License-Identifier: GPL-3.0-or-later
"""The command lines of the steps in a job's allocation, and what srun says beside what the step prints.

Every option is written out: Slurm's commands also take options from variables, which salloc or a profile sets and which
the nodes' share of a step must not depend on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

# How srun exits if the step did not start (srun(1), SLURM_EXIT_ERROR), as ssh does: commands rarely exit with it.
NOT_STARTED = 255
# The variables of Slurm's commands, and which of them stay: where the cluster is, and how users are known to it.
FOREIGN = ("SLURM_", "SRUN_", "SQUEUE_", "SCONTROL_", "SCANCEL_")
KEPT = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT", "SLURM_TIME_FORMAT")
# Options of sbatch that would make of a submitted launch several jobs, one elsewhere, or one that is waited for.
OF_SBATCH = ("SBATCH_ARRAY_INX", "SBATCH_CLUSTERS", "SBATCH_ERROR", "SBATCH_EXCLUSIVE", "SBATCH_WAIT")
# What a step gets of the environment here; a login on the node has as much.
EXPORTED = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "PATH")
# It repeats the exit code, as one line on stderr that the command did not print.
_EXIT_CODE = re.compile(
    rb"^srun: error: \S+: task [0-9,-]+: (?:Exited with exit code [0-9]+|[A-Z][a-z ]+)\n", re.MULTILINE
)


def srun(names: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """Return the beginning of a command line of srun: as if only those variables were set here that are to count.

    names are those of the variables that the step gets, ALL for every one.
    """
    return [*without_options(environment), f"SLURM_EXIT_ERROR={NOT_STARTED}", "srun", f"--export={','.join(names)}"]


def without_options(environment: Mapping[str, str]) -> list[str]:
    """Return the beginning of a command line of any command of Slurm: as if none of its options were set here."""
    removed = sorted(
        name for name in environment if name in OF_SBATCH or (name.startswith(FOREIGN) and name not in KEPT)
    )
    return ["env", *(word for name in removed for word in ("-u", name))]


def on_node(job: str, node: str) -> list[str]:
    """Return the options of a step that runs one command on a node, beside whatever runs there."""
    return [*_of_job(job, [node]), "--quiet", "--"]


def on_all_nodes(job: str, nodes: Sequence[str], name: str) -> list[str]:
    """Return the options of a step with one task on each node, which goes on when tasks fail or a node is lost."""
    lasting = ("--kill-on-bad-exit=0", "--no-kill", "--wait=0", "--cpu-bind=none", "--input=none")
    return [*_of_job(job, nodes), f"--job-name={name}", *lasting, "--"]


def _of_job(job: str, nodes: Sequence[str]) -> list[str]:
    """Return what all steps have: one task on each node, which shares what the job has there with other steps."""
    count, place = len(nodes), f"--nodelist={','.join(nodes)}"
    return [f"--jobid={job}", "--overlap", f"--nodes={count}", f"--ntasks={count}", place, "--chdir=/", "--mpi=none"]


def without_exit_codes(stderr: bytes) -> bytes:
    """Return what a step printed on stderr without srun's lines about how its tasks ended."""
    return _EXIT_CODE.sub(b"", stderr)
