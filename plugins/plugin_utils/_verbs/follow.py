# SPDX-License-Identifier: GPL-3.0-or-later
"""`follow`: a run on its head until it ends, and then the same steps as those of `collect`. `launch` does that too.

After the steps of `find`, or the start of a launch's nodes, whose ranks it awaits first (`await_start`), `watch` reads
the head every second, more often at both ends, and draws one line. The head is that which the task is delegated to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.hang import Hang
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED, NOT_BEGUN
from ansible_collections.muster.train.plugins.module_utils._records.run import Heartbeat
from ansible_collections.muster.train.plugins.module_utils._records.transport import TransportVerdict
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.document_output import print_document
from .._action.interrupt import Interrupt
from .._action.output_format import JSON_LINES
from .._action.screen import ProgressLine, print_after_interrupt
from .._findings.errors import UserError
from .._request.hints import command, hints
from .._request.verbs import LAUNCHES
from .._results import hangs, transports, unanswered
from .._results.documents import SampleLines
from .._results.log_frames import FolderNews
from .._results.progress import (
    Sample,
    begins_anew,
    eta_s,
    progress_line,
    read_sample,
    sample_of,
    status_text,
)
from .._text.table import aligned, one_line
from . import submitted
from .find import infos_of, shared_answer, subject
from .reading import SILENT_AFTER_S, RunReader
from .step import Conclude, Conclusion, Play, Unreachable

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
# Counted from the first failed read: a connection that hung is tried again, however long it took.
OUT_OF_REACH_AFTER_S = 60.0
# If neither the raw read nor the module has answered for this long, following ends.
UNREADABLE_AFTER_S = 120.0
OVER = (*ENDED, *NOT_BEGUN)
# On the head the lowest rank is 0; a program that starts the ranks itself writes to the node's log.
LOGS = "node.log rank_00.log"
LINE_BYTES = 512


class _Unreadable(UserError):
    """The state of the run could not be read for long: what the run does is not known."""


@frozen
class Look:
    """What one look at the head has shown, with what to warn of; sample is None where nothing could be read.

    log has the last lines of the log.
    """

    sample: Sample | None
    warning: str | None
    log: Sequence[str]


class HeadReader:
    """Looks at a run on its head; with line_count also at the last lines of its log."""

    def __init__(self, play: Play, line_count: int = 0) -> None:
        run_id, self.node = subject(play)
        self._reader = RunReader(play, self.node, run_id, _run_dir(play, run_id, self.node))
        self._clock, self._line_count = play.clock, line_count
        self._readable = play.clock()
        self._away_since: float | None = None
        self._count, self._has_warned = -1, False
        self._log: Sequence[str] = ()

    def look(self) -> Look:
        """Read the head, and ask the module if that has no news for long; raise _Unreadable if both fail for long."""
        try:
            news = self._reader.read(LOGS if self._line_count else "", (self._line_count + 1) * LINE_BYTES)
        except Unreachable as error:
            now = self._clock()
            self._away_since = now if self._away_since is None else self._away_since
            if now - self._away_since <= OUT_OF_REACH_AFTER_S:
                return Look(None, None, self._log)
            away = f"the head {self.node} has not been reachable for {OUT_OF_REACH_AFTER_S:.0f} s"
            raise _Unreadable(f"{away} ({one_line(error)})") from None
        self._away_since = None
        sample = read_sample(*news.documents) if news else None
        if news and self._line_count:
            self._log = self._last_lines(news)
        if sample is not None:
            self._readable, self._count = self._clock(), sample.count
        return Look(*self._confirm(sample), self._log)

    def _confirm(self, sample: Sample | None) -> tuple[Sample | None, str | None]:
        """Return a sample, that of the module where it knows more, and what to warn of."""
        run = self._reader.ask_if_silent(sample and sample.count)
        if run is None:
            return sample, None
        if isinstance(run, str):
            return sample, self._warn_without_answer(run)
        known = sample_of(run, Heartbeat(self._count, run.progress, run.elapsed_s))
        if known is None:
            return sample, self._warn_without_answer("its answer has no state of the run")
        if sample is not None and run.alive:
            return sample, None
        self._readable = self._clock()
        if not run.alive or self._has_warned:
            return known, None
        self._has_warned = True
        return known, (
            f"{self.node}: the state of the run could not be read as a file (observed: {self._reader.observed}); "
            f"a module reads it every {SILENT_AFTER_S:.0f} s instead"
        )

    def _warn_without_answer(self, why: str) -> str:
        """Return the warning that the module failed; raise _Unreadable if nothing could be read for long."""
        if self._clock() - self._readable > UNREADABLE_AFTER_S:
            raise _Unreadable(
                f"the state of the run on the head {self.node} could not be read for {UNREADABLE_AFTER_S:.0f} s, "
                f"neither as a file (observed: {self._reader.observed}) nor by a module ({why})"
            )
        return (
            f"{self.node}: the run's heartbeat has stopped, and it is not known whether its runner is alive: {why}; "
            "following continues"
        )

    def _last_lines(self, news: FolderNews) -> list[str]:
        """Return the last lines of the last log that has any; the first one that was read may be cut."""
        data = next((part.data for part in reversed(news.parts) if part.data), b"")
        lines = data.decode("utf-8", "replace").strip("\r\n").split("\n")
        return [f"  | {clean(line)}" for line in lines[-self._line_count :] if line.strip()]


@Conclude
def await_start(play: Play) -> Conclusion:
    """Wait until all launchers run or the run has ended; a run that ended before any was started has failed.

    The phase is None and its reason is returned if the head could not be read for long: a failure would stop the nodes
    of a run that may be healthy.
    """
    head, line, began = HeadReader(play), ProgressLine(play.clock), play.clock()
    while True:
        try:
            look = head.look()
        except _Unreadable as error:
            why = (
                f"it is not known whether the run has started: {error}; nothing was stopped, and a run that lacks "
                "a node ends by itself"
            )
            return Conclusion(result={**_outcome(None), "why": why})
        if look.warning:
            line.warn(look.warning)
        if (now := look.sample) is not None:
            if now.begun:
                return Conclusion(result=_outcome(now.phase))
            if now.phase in OVER:
                # What else did not start is printed with it.
                return Conclusion(failure=UserError(_why_not_started(now, head.node)), is_shown=True)
            if play.clock() - began > LONG_START_S:
                line.draw(status_text(now), status_text(now), last=False)
        play.pause(SHORT_POLL_S)


@Conclude
def watch(play: Play) -> Conclusion:
    """Follow the run until it ends, the user interrupts, or its runner is gone; fail if it cannot be read for long."""
    if play.request.get("is_in_queue"):
        return submitted.follow(play)
    run_id, _head = subject(play)
    if play.request["verb"] in LAUNCHES and not play.parameters["follow"]:
        # A run that is followed shows by itself whether it has started.
        raise UserError(f"{run_id}: {shared_answer(play, 'launch__joined')['why']}")
    head = HeadReader(play, int(play.parameters["lines"]))
    if play.is_checked:
        return Conclusion(result=_outcome(None))
    commands = aligned(hints(run_id, play.request.get("call"), ("follow", "stop")))
    interrupt = play.interrupt or Interrupt()
    try:
        with interrupt.awaited():
            play.host.prepare_module("run_info")  # it collects when the run has ended
            phase = _follow(play, head, interrupt)
    except _Unreadable as error:
        lines = [f"{error}; nothing was stopped. When it can be read again:", *commands]
        raise UserError("\n".join(lines)) from None
    result = _outcome(phase)
    if not result["ended"]:
        print_after_interrupt(f"{run_id} is still {phase or 'active'}; nothing was collected")
    return Conclusion(lines=() if result["ended"] else commands, document={"run_id": run_id}, result=result)


def _run_dir(play: Play, run_id: str, head: str) -> str:
    """Return where the head has the run; fail if it does not answer, or does not have it."""
    [info] = infos_of(play, nodes=[head])
    if info.run.run_dir and info.run.phase != "not_found":
        return info.run.run_dir
    others = "`status` shows the other nodes"
    if info.answered:
        raise UserError(clean(f"the head {head} does not have run {run_id}: {others}"))
    raise UserError("\n".join([*unanswered.lines([info]), clean(f"a run is followed on its head, {head}; {others}")]))


def _outcome(phase: str | None) -> dict[str, Any]:
    """Return what later steps read: the head's last phase, None if it is not known, and whether it has ended."""
    return {"ended": phase in OVER, "phase": phase}


def _why_not_started(now: Sample, node: str) -> str:
    if now.phase in NOT_BEGUN or now.phase == "lost":
        return f"{node}: {now.why or now.phase}"
    # The head's own reason names no node; that of another one does.
    where = f"{node}: " if now.why and now.phase == "failed" else ""
    return f"{where}{now.why or f'the run {now.phase} before it started'}; a runner that came late ends within a minute"


def _follow(play: Play, head: HeadReader, interrupt: Interrupt) -> str | None:
    """Show how far the run is until it ends or the user interrupts; return the head's last phase."""
    run_id, _node = subject(play)
    line, samples, began = ProgressLine(play.clock), SampleLines(run_id, play.clock), play.clock()
    are_lines_requested, has_hinted = play.parameters["output"] == JSON_LINES, False
    first: Sample | None = None
    hang: Hang | None = None
    transport: TransportVerdict | None = None
    phase: str | None = None
    while True:
        look = head.look()
        if look.warning:
            line.warn(look.warning)
        if (now := look.sample) is not None:
            phase = now.phase
            if phase in NOT_BEGUN:
                return phase
            if first is None or begins_anew(first, now):
                first = now
            if now.hang != hang and phase == "running":
                if now.hang is not None:
                    line.say(hangs.text_of(now.hang))
                elif hang is not None and not hang.is_moving:
                    line.say("the run moves again")
                hang = now.hang
            if now.transport != transport and now.transport is not None:
                for shown in transports.texts_of(now.transport):
                    line.say(shown)
            transport = now.transport
            if are_lines_requested and (text := samples.next_line(first, now)):
                print_document(text)
            line.draw(progress_line(first, now), status_text(now), last=phase in ENDED, below=look.log)
            if phase in ENDED:
                return phase
            if now.progress is None and not now.attempt and now.elapsed_s >= HINT_AFTER_S and not has_hinted:
                has_hinted = True
                line.say(f"no progress yet: {command('logs', run_id, play.request.get('call'))}")
        play.pause(_pause_s(first, now, play.clock() - began))
        if interrupt.pressed:
            return phase


def _pause_s(first: Sample | None, now: Sample | None, seconds: float) -> float:
    """Return how long to wait for the next look, seconds after the first one."""
    if first is None or now is None:
        return POLL_S
    left = eta_s(first, now)
    if left is not None and left < AT_END_S:
        return SHORT_POLL_S
    return min(POLL_S, max(SHORT_POLL_S, EARLY_PART * max(now.elapsed_s, seconds)))
