# SPDX-License-Identifier: GPL-3.0-or-later
"""The Slurm steps in which the runners of a plan live: one for all nodes of a job.

Everything that a step started ends with it, so the step is begun here and not on a node. Its task on each node waits
for the command line of the node's runner, which the module `run` writes, and becomes that runner. What that prints is
in its log, for srun does not live so long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.layout import step_command

from .._findings.errors import UserError, display
from .._slurm.step_command import on_all_nodes

# What a task prints when it waits, before its node's name.
WAITING = "muster waits on"
# The words after it: how many tenths of a second to wait, then NODE=FILE for every node of the step.
WAIT = (
    f'echo "{WAITING} $SLURMD_NODENAME"; tries=$1; shift; '
    'file=; for place; do case $place in "$SLURMD_NODENAME="*) file=${place#*=};; esac; done; '
    'while [ ! -e "$file" ]; do tries=$((tries - 1)); [ "$tries" -gt 0 ] || exit 1; sleep 0.1; done; '
    'log=${file%/*}/runner.log; (umask 077; : >> "$log"); command=$(cat "$file"); echo $$ > "$file"; '
    'exec >> "$log" 2>&1; eval "exec $command"'
)
NAME_BYTES = 8


@frozen
class PlannedStep:
    """A step to begin: the Slurm job, the step's name, which no other launch has, its nodes, and srun's options."""

    job: str
    name: str
    nodes: list[str]
    argv: list[str]

    def split_output(self, output: str) -> tuple[list[str], list[str]]:
        """Return the nodes whose task has not printed yet that it waits, and the lines that srun itself has printed."""
        lines, waiting = output.splitlines(), {f"{WAITING} {node}": node for node in self.nodes}
        silent = [node for line, node in waiting.items() if line not in lines]
        return silent, [line for line in lines if line not in waiting]


def steps_of(plan: Mapping[str, Any]) -> list[PlannedStep]:
    """Return the steps of a plan, one for each Slurm job that its nodes belong to; none without the starter slurm."""
    places: dict[str, dict[str, str]] = {}
    for job in plan.get("jobs", {}).values():
        if job.get("slurm"):  # not in a plan of an older version
            files, node = places.setdefault(job["slurm"]["job"], {}), job["slurm"]["node"]
            if node in files:
                raise UserError(
                    f"two nodes of the inventory are the node {display(node)} of the Slurm job {job['slurm']['job']}: "
                    "expected one on each; remove one of the two from the group nodes"
                )
            files[node] = step_command(job["run_dir"], job["nonce"])
    if not places:
        return []
    # The controller ends the step where a node does not start; so long it waits where the controller died meanwhile.
    tenths = 10 * max(job["join_timeout"] for job in plan["jobs"].values())
    name = f"muster-{plan['nonce'][:NAME_BYTES]}"
    return [PlannedStep(job, name, list(files), _argv(job, name, files, tenths)) for job, files in places.items()]


def _argv(job: str, name: str, files: Mapping[str, str], tenths: int) -> list[str]:
    task = ["/bin/sh", "-c", WAIT, "muster", str(tenths), *(f"{node}={file}" for node, file in files.items())]
    return [*on_all_nodes(job, list(files), name), *task]
