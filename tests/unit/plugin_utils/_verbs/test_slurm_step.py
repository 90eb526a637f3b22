# SPDX-License-Identifier: GPL-3.0-or-later
"""The Slurm step of a launch: begun before the nodes start, and ended where one does not."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._plan.slurm_step import WAITING
from ansible_collections.muster.train.plugins.plugin_utils._slurm.step_command import without_options
from ansible_collections.muster.train.plugins.plugin_utils._verbs import slurm_step
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Play, Spawned
from ansible_collections.muster.train.tests.support.sources import document
from ansible_collections.muster.train.tests.support.verbs import play_of

NONCE = "0123456789abcdef"
JOB = {"run_dir": "/w/run", "nonce": NONCE, "join_timeout": 60}
PLAN = {
    "nonce": NONCE,
    "jobs": {name: {**JOB, "slurm": {"job": "12", "node": name, "kill_wait": 0}} for name in ("gpu01", "gpu02")},
}
STEPS = "12.batch batch\n12.4 muster-ffffffff\n12.7 muster-01234567\n"
REFUSED = "srun: error: Unable to create step for job 12: Requested nodes are busy\n"


class Slurm:
    """What srun prints, the last text again and again, and what was spawned, killed and run."""

    def __init__(self, *outputs: str, listing: str = "", has_ended: bool = False) -> None:
        self._outputs, self._listing, self._has_ended = list(outputs), listing, has_ended
        self.spawned: list[list[str]] = []
        self.killed = 0
        self.commands: list[list[str]] = []
        self._now = 0.0

    def spawn(self, argv: Sequence[str]) -> Spawned:
        self.spawned.append(list(argv))
        return Spawned(lambda: self._has_ended, self._read, self._kill)

    def _read(self) -> str:
        return self._outputs.pop(0) if len(self._outputs) > 1 else self._outputs[0]

    def _kill(self) -> None:
        self.killed += 1

    def run(self, argv: Sequence[str], _timeout_s: float) -> str:
        self.commands.append(list(argv))
        return self._listing

    def pause(self, seconds: float) -> None:
        self._now += seconds

    def play(self, plan: dict[str, Any] | None = None) -> Play:
        return dataclasses.replace(
            play_of("launch", {"gpu01": {"launch__plan": {"plan": PLAN if plan is None else plan}}}),
            run_command=self.run,
            spawn_command=self.spawn,
            clock=lambda: self._now,
            pause=self.pause,
        )


def test_a_launch_waits_for_the_tasks_of_all_nodes_and_leaves_them() -> None:
    waits = [f"{WAITING} {node}\n" for node in ("gpu02", "gpu01")]
    slurm = Slurm("", waits[0], f"{waits[0]}srun: a warning\n", "".join(waits))
    assert slurm_step.begin.conclusion(slurm.play()).failure is None
    [line] = slurm.spawned
    assert line[0] == "env"
    assert {"srun", "--job-name=muster-01234567", "--nodelist=gpu01,gpu02"} <= {*line}
    assert slurm.killed == 1


def test_without_slurm_no_command_is_run() -> None:
    slurm = Slurm("")
    slurm_step.begin.conclusion(slurm.play({"nonce": NONCE, "jobs": {"node0": {**JOB, "slurm": None}}}))
    slurm_step.end_steps(slurm.play({"nonce": NONCE, "jobs": {"node0": JOB}}))
    assert (slurm.spawned, slurm.commands) == ([], [])


NOT_BEGUN = {"refused": Slurm(REFUSED, has_ended=True), "no answer": Slurm(f"{WAITING} gpu02\n")}


@pytest.mark.parametrize("name", NOT_BEGUN)
def test_a_step_that_does_not_begin_fails_the_launch(name: str) -> None:
    with pytest.raises(UserError):
        slurm_step.begin.conclusion(NOT_BEGUN[name].play())
    assert NOT_BEGUN[name].killed == 1


def test_only_the_step_of_this_launch_is_ended() -> None:
    slurm = Slurm("", listing=STEPS)
    slurm_step.end_steps(slurm.play())
    assert slurm.commands[1:] == [[*without_options(os.environ), "scancel", "12.7"]]


def test_the_step_begins_before_any_node_starts() -> None:
    names = [task["name"] for task in document("roles/launch/tasks/start.yml")[0]["block"]]
    assert names.index("Begin the Slurm step of the runners") < names.index("Start the job")
