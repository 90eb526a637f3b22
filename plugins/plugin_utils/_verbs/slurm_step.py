# SPDX-License-Identifier: GPL-3.0-or-later
"""The Slurm steps of a launch, begun and ended on the controller, with no other starter none."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError
from .._plan.slurm_step import PlannedStep, steps_of
from .._slurm.step_command import EXPORTED, srun, without_options
from .._text.table import names, one_line
from .find import shared_answer
from .step import Conclude, Conclusion, Play

# A busy slurmctld takes seconds.
BEGIN_S, ASK_S, POLL_S = 60.0, 10.0, 0.1


@Conclude
def begin(play: Play) -> Conclusion:
    """Begin the steps in which the runners will live; return when their tasks wait on all nodes.

    srun ends its step when a signal ends it, as at the end of a login, and where it is killed, a child of it does. When
    all of them are killed at once, that child first, the step goes on and ends with its tasks.
    """
    for step in _steps(play):
        spawned = play.spawn_command([*srun(EXPORTED, os.environ), *step.argv])
        deadline = play.clock() + BEGIN_S
        while True:
            has_ended = spawned.has_ended()  # before what it printed is read
            silent, printed = step.split_output(spawned.read_output())
            if not silent:
                break
            if has_ended or play.clock() > deadline:
                spawned.kill()  # it may still wait for the step
                why = one_line("\n".join(printed)) or f"no task began on {names(silent)} within {BEGIN_S:.0f} s"
                remedy = f"see whether all its nodes are up: scontrol show job {step.job}, sinfo --list-reasons"
                raise UserError(clean(f"the Slurm job {step.job} did not begin a step on all nodes: {why}; {remedy}"))
            play.pause(POLL_S)
        spawned.kill()
    return Conclusion()


def end_steps(play: Play) -> None:
    """End what waits on nodes that did not start, and whatever else is left of the steps."""
    for step in _steps(play):
        for number in _ids(play, step):
            play.run_command([*without_options(os.environ), "scancel", number], ASK_S)


def _steps(play: Play) -> list[PlannedStep]:
    return steps_of(shared_answer(play, "launch__plan")["plan"])


def _ids(play: Play, step: PlannedStep) -> Iterator[str]:
    """Yield the ID of a step of this launch that Slurm knows."""
    listing = [*without_options(os.environ), "squeue", "--noheader", "--steps", f"--jobs={step.job}", "--format=%i %j"]
    for line in (play.run_command(listing, ASK_S) or "").splitlines():
        number, _blank, name = line.strip().partition(" ")
        if name == step.name:
            yield number
