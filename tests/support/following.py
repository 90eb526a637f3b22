# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is followed on its head: what is read and answered comes from lists, and time is a number."""

from __future__ import annotations

import base64
import dataclasses
import json
import shlex
import signal
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any
from unittest.mock import MagicMock

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._action import screen
from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import (
    CommandOutput,
    Conclude,
    Conclusion,
    HostSession,
    Unreachable,
)
from ansible_collections.muster.train.tests.support.verbs import play_of, texts


class Unframed(str):
    """What a read prints that has no markers."""


# What one read gives: the lines of state and heartbeat, or the connection's failure.
Read = str | Unreachable
RUN_DIR = "/w/.muster/nodes/node0/runs/run1"
ALIVE = {"run": {"alive": True, "phase": "running"}}
AWAY = Unreachable("no route to host")
# An endless following would make a test endless.
MOST_READS = 2000


def reads(phase: str, beat: object) -> str:
    return f"{json.dumps({'phase': phase})}\n{beat if isinstance(beat, str) else json.dumps(beat)}\n"


def beating() -> Iterator[str]:
    return (reads("running", {"count": number, "elapsed_s": number}) for number in count(1))


class Head:
    """A head that a step follows. Waiting costs a second of its clock, which nothing else moves but a slow read."""

    def __init__(
        self,
        looks: Iterable[Read],
        answers: Iterable[Mapping[str, Any]] = (),
        interrupt_at: float | None = None,
        read_takes: float = 0.0,
        log: str = "",
        known: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> None:
        """known is what tasks have registered, and given the parameters with the `verb`."""
        self.looks, self.answers = iter(looks), iter(answers)
        self.interrupt_at, self.read_takes, self.log = interrupt_at, read_takes, log
        self.seconds = 0.0
        self.printed: list[str] = []
        self.built: list[str] = []
        self.read: list[list[str]] = []
        self.asked: list[float] = []
        self.pauses: list[float] = []
        self.interrupt = Interrupt()
        verb = given.pop("verb", "follow")
        answers_of = {"launch__info": {"run": {"run_id": "run1", "phase": "running", "run_dir": RUN_DIR}}}
        plan = {"launch__plan": {"plan": {"run_id": "run1", "head": {"node": "node0"}}}} if verb == "launch" else {}
        play = play_of(
            verb,
            {"node0": {**answers_of, **plan, **(known or {})}},
            {"lines": 0, "follow": True, **given},
            {"launch_workdir": "/w", "launch_docker": ["sudo", "docker"]},
            run_id="run1",
            call="ansible-playbook -i lab",
        )
        session = HostSession(run_module=self._answer, run_line=self._print, prepare_module=self.built.append)
        self.play = dataclasses.replace(
            play, host=session, interrupt=self.interrupt, clock=lambda: self.seconds, pause=self._pause
        )

    def conclude(self, step: Conclude) -> Conclusion:
        """Return what the step concludes; what it prints is kept, warnings too."""
        with pytest.MonkeyPatch.context() as patch:
            display = MagicMock(display=lambda line, **_options: self.printed.append(line))
            display.warning = self.printed.append
            patch.setattr(screen, "display", display)
            conclusion = step.conclusion(self.play)
        self.printed += texts(conclusion)
        return conclusion

    def _print(self, words: str) -> CommandOutput:
        assert len(self.read) < MOST_READS, "it goes on for ever"
        self.read.append(shlex.split(words)[4:])
        self.seconds += self.read_takes
        text = next(self.looks)
        if isinstance(text, Unreachable):
            raise text
        if isinstance(text, Unframed):
            return CommandOutput(text, "")
        marker = self.read[-1][0]
        blocks = [f"document\n{_encoded(part)}" for part in (*text.splitlines(), "", "")[:2]]
        blocks += [f"file {name} 1 0 {len(self.log)}\n{_encoded(self.log)}" for name in self.read[-1][2].split()]
        return CommandOutput("\x1b]0;gpu01\x07\n" + "".join(f"{marker} {part}\n" for part in (*blocks, "end")), "")

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.seconds += 1
        if self.seconds == self.interrupt_at:
            self.interrupt._on_interrupt(signal.SIGINT, None)

    def _answer(self, module: str, options: Mapping[str, Any]) -> dict[str, Any]:
        asked = {"workdir": "/w", "run_id": "run1", "node": "node0", "docker": ["sudo", "docker"]}
        assert (module, options) == ("run_info", asked)
        self.asked.append(self.seconds)
        return dict(next(self.answers))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
