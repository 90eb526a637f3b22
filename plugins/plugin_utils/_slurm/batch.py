# SPDX-License-Identifier: GPL-3.0-or-later
"""The batch script of a submitted launch: the launch as it would be typed in the allocation, with sbatch's options.

Every word is quoted by shlex, and the options are words without blanks, so that an #SBATCH line is one word.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

# What a submission leaves in the experiment: the script, the launch's parameters, what the job printed, how it exited.
SCRIPT, PARAMETERS, OUTPUT, EXIT = "submit.sh", "launch.json", "job.log", "job.exit"
# In the job its own allocation is the inventory, whatever the shell that submitted it had chosen; and sbatch passes the
# locale on in which it ran.
UNSET = ("MUSTER_SLURM_JOB_ID", "MUSTER_SLURM_JOB_NAME", "MUSTER_SLURM_NODE_LIST", "LC_ALL")
_ANSWER = re.compile(r"([0-9]{1,10})(?:;\S*)?")


@frozen
class Batch:
    """What a batch script is made of: home is the experiment, environment what the launch needs, words its command."""

    run_id: str
    home: str
    directory: str
    options: Sequence[str]
    environment: Mapping[str, str]
    words: Sequence[str]

    def script(self) -> str:
        """Return the script, which leaves the exit code of the launch: Slurm forgets a job some minutes after its
        end."""
        code = shlex.quote(f"{self.home}/{EXIT}")
        exports = [f"export {name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())]
        lines = [
            "#!/bin/bash",
            # sbatch divides such a line at blanks, and ends it at a #.
            *(f"#SBATCH {shlex.quote(option)}" for option in self.options),
            "",
            f"# The launch of {self.run_id}; sbatch runs it on the first node of the job.",
            f"unset {' '.join(UNSET)}",
            *exports,
            f"rm -f {code}",
            # The output of a run that goes on is appended.
            'echo "job $SLURM_JOB_ID on $SLURM_JOB_NODELIST, $(date -u +%Y-%m-%dT%H:%M:%SZ)"',
            f"cd {shlex.quote(self.directory)} || exit",
            shlex.join(self.words),
            "code=$?",
            f'echo "$code" >{code}',
            "# A run that Slurm's preemption has ended goes on later, where the job may be requeued.",
            'if [ "$code" != 0 ] && scontrol show job "$SLURM_JOB_ID" | grep -q "PreemptTime=[0-9]"; then',
            '    scontrol requeue "$SLURM_JOB_ID"',
            "fi",
            'exit "$code"',
        ]
        return "\n".join(lines) + "\n"


def sbatch_options(run_id: str, home: str, values: Mapping[str, Any]) -> list[str]:
    """Return the options of sbatch; the job's name is the run ID, by which the verbs find it from any shell."""
    named = ("partition", "account", "time", "qos", "reservation", "constraint", "exclude", "gres")
    return [
        f"--job-name={run_id}",
        f"--nodes={values['nnodes']}",
        "--ntasks-per-node=1",
        *(f"--{name}={values[name]}" for name in named if values[name] is not None),
        *([f"--gpus-per-node={values['gpus']}"] if values["gpus"] is not None else []),
        *(["--exclusive"] if values["exclusive"] else []),
        # In file names, sbatch replaces %j and the like.
        f"--output={home.replace('%', '%%')}/{OUTPUT}",
        "--open-mode=append",
        # After the failure of a node, Slurm runs the script again, which resumes the run.
        "--requeue",
        *values["sbatch_options"],
    ]


def parse_answer(text: str) -> str | None:
    """Return the ID of the job, from what sbatch --parsable prints; None where there is none."""
    match = _ANSWER.fullmatch(text.strip())
    return match[1] if match else None
