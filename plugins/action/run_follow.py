# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `run_follow`: polls the head every second, more often at the end, with a raw read; draws one line."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED, NOT_BEGUN
from ansible_collections.muster.train.plugins.module_utils._records.run import Heartbeat, RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._action.base import Action
from ansible_collections.muster.train.plugins.plugin_utils._action.build import build_module
from ansible_collections.muster.train.plugins.plugin_utils._action.document_output import print_document
from ansible_collections.muster.train.plugins.plugin_utils._action.interrupt import Interrupt
from ansible_collections.muster.train.plugins.plugin_utils._action.output_format import JSON_LINES, requested_format
from ansible_collections.muster.train.plugins.plugin_utils._action.screen import (
    ProgressLine,
    print_after_interrupt,
    show,
)
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._request.hints import command, hints
from ansible_collections.muster.train.plugins.plugin_utils._request.settings import values
from ansible_collections.muster.train.plugins.plugin_utils._results.documents import SampleLines
from ansible_collections.muster.train.plugins.plugin_utils._results.progress import (
    Sample,
    begins_anew,
    eta_s,
    progress_line,
    read_sample,
    sample_of,
    status_text,
)
from ansible_collections.muster.train.plugins.plugin_utils._text.frames import framed_read, framed_texts
from ansible_collections.muster.train.plugins.plugin_utils._text.table import aligned, one_line

INTERRUPT = Interrupt()

OPTIONS = {
    "run_dir": {"type": "str", "required": True},
    "workdir": {"type": "str", "required": True},
    "run_id": {"type": "str", "required": True},
    "node": {"type": "str", "required": True},
    "docker": {"type": "list", "elements": "str", "default": ["docker"]},
    "request": {"type": "dict", "default": {}},
    "until": {"type": "str", "choices": ["ended", "running"], "default": "ended"},
    "why": {"type": "str"},
}
POLL_S = 1.0
# A start or an end that is due is reported at once. What the head reports is up to a second old.
SHORT_POLL_S = 0.1
AT_END_S = 3.0
# Of the time since the start: most failures are early, and a run that has lasted for seconds is read once a second.
EARLY_PART = 0.1
# A start that takes longer shows what it waits for.
LONG_START_S = 5.0
# Counted from the launcher's start: a script's imports and the rendezvous take a while.
HINT_AFTER_S = 30.0
# The runner writes a heartbeat every second: if it is this old, the runner is gone or the disk is full.
SILENT_AFTER_S = 20.0
# Counted from the first failed read: a connection that hung is tried again, however long it took.
OUT_OF_REACH_AFTER_S = 60.0
# If neither the raw read nor the module has answered for this long, following ends.
UNREADABLE_AFTER_S = 120.0
DOCUMENTS = ("state.json", "heartbeat.json")
OBSERVED_CHARACTERS = 120
# On the head the lowest rank is 0; a program that starts the ranks itself writes to the node's log.
LOGS = ("logs/node.log", "logs/rank_00.log")
LINE_BYTES = 512


def _not_started(why: str) -> dict[str, Any]:
    """Return a failure that a step prints, together with what else did not start."""
    return {"failed": True, "msg": why, "reported": True}


class _Unreadable(UserError):
    """The state of the run could not be read for long: what the run does is not known."""


class ActionModule(Action):
    """Follow one run on the head until it ends, the user interrupts, or its runner is gone."""

    BYPASS_HOST_LOOP = True
    OPTIONS = OPTIONS
    # Tests replace the clock.
    _clock: Callable[[], float] = staticmethod(time.monotonic)
    _away_since: float | None = None
    _pause: Callable[[float], None] = staticmethod(time.sleep)
    # How many of the last lines of the log are shown, and those of the last read.
    _line_count = 0
    _lines: tuple[str, ...] = ()
    # What the last raw read printed where the state should be.
    _observed = ""

    def perform(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        run_id = args["run_id"]
        if args["why"]:
            raise UserError(f"{run_id}: {args['why']}")
        if self._task.check_mode:
            return {"ended": False, "phase": None, "interrupted": False}
        call = args["request"].get("call")
        if args["until"] == "running":
            return self._await_start(args, variables)
        self._line_count = int(values(args["request"]).get("lines") or 0)
        commands = aligned(hints(run_id, call, ("follow", "stop")))
        try:
            with INTERRUPT.awaited():
                build_module(self, "muster.train.run_info", variables)  # it collects when the run has ended
                followed = self._follow(args, variables, command("logs", run_id, call))
        except _Unreadable as error:
            lines = [f"{error}; nothing was stopped. When it can be read again:", *commands]
            raise UserError("\n".join(lines)) from None
        if self.is_document_requested:
            self.document = {"run_id": run_id}
        if followed["interrupted"]:
            print_after_interrupt(f"{run_id} is still {followed['phase'] or 'active'}; nothing was collected")
            show(commands)
        return followed

    def _read(self, run_dir: str) -> Sample | None:
        """Read the head's state and heartbeat; None while the documents are incomplete."""
        marker = secrets.token_hex(16)
        paths = [os.path.join(run_dir, name) for name in DOCUMENTS]
        logs = [os.path.join(run_dir, name) for name in LOGS] if self._line_count else []
        tail_bytes = (self._line_count + 1) * LINE_BYTES
        command = framed_read(marker, paths, logs, tail_bytes)
        output = (answer := self._low_level_execute_command(command, sudoable=True)).get("stdout", "")
        texts = framed_texts(output, marker, len(paths) + bool(logs))
        if texts and logs:
            # The first one may be cut.
            lines = texts.pop().strip("\r\n").split("\n")
            self._lines = tuple(f"  | {clean(line)}" for line in lines[-self._line_count :] if line.strip())
        observed = (texts[0] if texts else output).strip() or answer.get("stderr") or "nothing"
        self._observed = one_line(observed, OBSERVED_CHARACTERS)
        return read_sample(*texts) if texts else None

    def _read_patiently(self, node: str, run_dir: str) -> Sample | None:
        """Read the head; None while it does not answer, for a minute at most, after which _Unreadable is raised."""
        try:
            sample = self._read(run_dir)
        except AnsibleConnectionFailure as error:
            self._away_since = self._clock() if self._away_since is None else self._away_since
            if self._clock() - self._away_since > OUT_OF_REACH_AFTER_S:
                raise _Unreadable(
                    f"the head {node} has not been reachable for {OUT_OF_REACH_AFTER_S:.0f} s ({one_line(error)})"
                ) from None
            return None
        self._away_since = None
        return sample

    def _samples(self, args: dict[str, Any], variables: dict[str, Any], line: ProgressLine) -> Iterator[Sample | None]:
        """Yield the result of each read of the head; if raw reads yield nothing new for long, call the module.

        Only the module knows whether the runner holds its lock, and a login's output does not hide its answer.
        """
        asked = {key: args[key] for key in ("workdir", "run_id", "node", "docker")}
        count, moved, readable, warned = -1, self._clock(), self._clock(), False
        while True:
            now = self._read_patiently(args["node"], args["run_dir"])
            if now is not None:
                readable = self._clock()
                if now.count != count:
                    count, moved = now.count, self._clock()
            if self._away_since is None and self._clock() - moved > SILENT_AFTER_S:
                run = self._ask(asked, variables)
                moved = self._clock()
                sample = None if isinstance(run, str) else sample_of(run, Heartbeat(count, run.progress, run.elapsed_s))
                if isinstance(run, str) or sample is None:
                    why = run if isinstance(run, str) else "its answer has no state of the run"
                    line.warn(self._without_an_answer(asked["node"], why, self._clock() - readable))
                elif now is None or not run.alive:
                    if now is None and run.alive and not warned:
                        warned = True
                        line.warn(
                            f"{asked['node']}: the state of the run could not be read as a file (observed: "
                            f"{self._observed}); a module reads it every {SILENT_AFTER_S:.0f} s instead"
                        )
                    readable = self._clock()
                    now = sample
            yield now

    def _without_an_answer(self, node: str, why: str, unreadable_s: float) -> str:
        """Return the warning that the module failed; raise _Unreadable if nothing could be read for long."""
        if unreadable_s > UNREADABLE_AFTER_S:
            raise _Unreadable(
                f"the state of the run on the head {node} could not be read for {UNREADABLE_AFTER_S:.0f} s, neither as "
                f"a file (observed: {self._observed}) nor by a module ({why})"
            )
        return (
            f"{node}: the run's heartbeat has stopped, and it is not known whether its runner is alive: {why}; "
            "following continues"
        )

    def _ask(self, asked: dict[str, Any], variables: dict[str, Any]) -> RunRecord | str:
        """Return the head's record of the run, or why it could not be read, after which following continues."""
        try:
            info = self._execute_module("muster.train.run_info", asked, task_vars=variables)
        except AnsibleConnectionFailure as error:
            info = {"failed": True, "msg": str(error)}
        if isinstance(info.get("run"), dict) and not info.get("failed"):
            return RunRecord.from_dict(info["run"])
        return one_line(info.get("msg") or "no answer")

    def _wait(self, seconds: float) -> bool:
        """Wait until the next read; False when the user pressed Ctrl-C."""
        self._pause(seconds)
        return not INTERRUPT.pressed

    def _await_start(self, args: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """Return once all launchers run or the run has ended; a run that ended before any was started has failed.

        A phase of None and its reason are returned if the head could not be read for long: a failure would stop the
        nodes of a run that may be healthy.
        """
        line = ProgressLine(self._clock)
        began = self._clock()
        samples = self._samples(args, variables, line)
        while True:
            try:
                now = next(samples)
            except _Unreadable as error:
                why = (
                    f"it is not known whether the run has started: {error}; nothing was stopped, and a run that lacks "
                    "a node ends by itself"
                )
                return {"ended": False, "phase": None, "interrupted": False, "why": why}
            if now is not None:
                if now.begun:
                    return {"ended": now.phase in ENDED, "phase": now.phase, "interrupted": False}
                if now.phase in NOT_BEGUN or now.phase == "lost":
                    return _not_started(f"{args['node']}: {now.why or now.phase}")
                if now.phase in ENDED:
                    why = now.why or f"the run {now.phase} before it started"
                    # The head's own reason names no node; that of another one does.
                    where = f"{args['node']}: " if now.why and now.phase == "failed" else ""
                    return _not_started(f"{where}{why}; a runner that came late ends within a minute")
                if self._clock() - began > LONG_START_S:
                    line.draw(status_text(now), status_text(now), last=False)
            self._pause(SHORT_POLL_S)

    def _follow(self, args: dict[str, Any], variables: dict[str, Any], logs: str) -> dict[str, Any]:
        line = ProgressLine(self._clock)
        lines = SampleLines(args["run_id"], self._clock)
        are_lines_requested = requested_format(self._loader) == JSON_LINES
        began = self._clock()
        hinted = False
        first: Sample | None = None
        phase: str | None = None
        samples = self._samples(args, variables, line)
        while True:
            now = next(samples)
            pause = POLL_S
            if now is not None:
                phase = now.phase
                if first is None or begins_anew(first, now):
                    first = now
                if phase in NOT_BEGUN:
                    return {"ended": True, "phase": phase, "interrupted": False}
                if are_lines_requested and (text := lines.next_line(first, now)):
                    print_document(text)
                line.draw(progress_line(first, now), status_text(now), last=phase in ENDED, below=self._lines)
                if phase in ENDED:
                    return {"ended": True, "phase": phase, "interrupted": False}
                left = eta_s(first, now)
                if left is not None and left < AT_END_S:
                    pause = SHORT_POLL_S
                else:
                    age = max(now.elapsed_s, self._clock() - began)
                    pause = min(POLL_S, max(SHORT_POLL_S, EARLY_PART * age))
                if now.progress is None and not now.attempt and now.elapsed_s >= HINT_AFTER_S and not hinted:
                    hinted = True
                    line.say(f"no progress yet: {logs}")
            if not self._wait(pause):
                return {"ended": False, "phase": phase, "interrupted": True}
