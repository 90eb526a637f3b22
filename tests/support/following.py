# SPDX-License-Identifier: GPL-3.0-or-later
"""An action that follows a run: what it reads and is answered comes from lists, and its time is a number."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any
from unittest.mock import MagicMock

from ansible.errors import AnsibleConnectionFailure

from ansible_collections.muster.train.plugins.action import run_follow as follow


class Unframed(str):
    """What a read prints that has no markers."""


# What one read gives: the lines of state and heartbeat, or the connection's failure.
Read = str | AnsibleConnectionFailure
RUN_DIR = "/w/.muster/nodes/node0/runs/run1"
ARGS = {
    "run_dir": RUN_DIR,
    "workdir": "/w",
    "run_id": "run1",
    "node": "node0",
    "docker": ["sudo", "docker"],
}
ALIVE = {"run": {"alive": True, "phase": "running"}}
AWAY = AnsibleConnectionFailure("no route to host")
# An endless following would make a test endless.
MOST_READS = 2000


def reads(phase: str, beat: object) -> str:
    return f"{json.dumps({'phase': phase})}\n{beat if isinstance(beat, str) else json.dumps(beat)}\n"


def beating() -> Iterator[str]:
    return (reads("running", {"count": number, "elapsed_s": number}) for number in count(1))


class Fake(follow.ActionModule):
    """Reads and answers from lists; waiting costs a second of a clock that nothing else moves."""

    def __init__(self, texts: Iterator[Read], answers: Sequence[dict[str, Any] | Exception], **args: Any) -> None:
        task = MagicMock(args={**ARGS, **args}, async_val=0, check_mode=False)
        super().__init__(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), None)
        self.texts, self.answers = texts, iter(answers)
        self.seconds = 0.0
        self.built: list[str] = []
        self.read: list[str] = []
        self.asked: list[float] = []
        self.pauses: list[float] = []
        self.interrupt_at: float | None = None
        self.read_takes: float = 0.0

    def _clock(self) -> float:
        return self.seconds

    def _wait(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        self.seconds += 1
        return self.seconds != self.interrupt_at

    def _low_level_execute_command(self, *words: Any, **_options: Any) -> dict[str, Any]:
        assert len(self.read) < MOST_READS, "it goes on for ever"
        self.read.extend(words)
        self.seconds += self.read_takes
        text = next(self.texts)
        if isinstance(text, AnsibleConnectionFailure):
            raise text
        if isinstance(text, Unframed):
            return {"rc": 0, "stdout": text}
        marker, state, beat = shlex.split(words[0])[4], *(*text.splitlines(), "", "")[:2]
        return {"rc": 0, "stdout": f"\x1b]0;gpu01\x07\n{marker}\n{state}\n\n{marker}\n{beat}\n{marker}\n"}

    def _pause(self, seconds: float) -> None:
        self.seconds += seconds

    def _configure_module(self, module_name: str, *_words: Any, **_options: Any) -> Any:
        assert not self.read, "it is built while the run begins"
        self.built.append(module_name)

    def _execute_module(self, *words: Any, **_options: Any) -> dict[str, Any]:
        assert words == (
            "muster.train.run_info",
            {"workdir": "/w", "run_id": "run1", "node": "node0", "docker": ["sudo", "docker"]},
        )
        self.asked.append(self.seconds)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


Make = Callable[..., Fake]


def outcome(action: Fake) -> dict[str, Any]:
    result: dict[str, Any] = action.run(task_vars={})
    assert result.pop("changed") is False
    return result


def ended(phase: str) -> dict[str, Any]:
    return {"ended": True, "phase": phase, "interrupted": False}
