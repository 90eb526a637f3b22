# SPDX-License-Identifier: GPL-3.0-or-later
"""A command at work on a sweep: it starts other commands on its runs, shows them, and keeps what became of each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.known import as_dict, parse_json
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.child import ChildCommand
from .._action.files import read_text, relative
from .._action.interrupt import Interrupt
from .._action.screen import ProgressLine
from .._findings.invocation import Invocation
from . import folder, outcome, text
from .child import start_child
from .course import Course
from .record import DONE, PRUNED, RUNNING, STOPPED, SUCCEEDED, Point, Sweep
from .study import Study


class SweepCommand:
    """count is how many points the command runs; with prune, those that are worse than others are stopped."""

    def __init__(self, request: Mapping[str, Any], interrupt: Interrupt, home: Path, sweep: Sweep) -> None:
        self.request, self.interrupt, self.home, self.sweep = request, interrupt, home, sweep
        self.count = 0
        self._times: list[float] = []
        self._line = ProgressLine(time.monotonic)
        self.prune = bool(request["parameters"]["prune"]["value"])
        self.study: Study | None = None
        # Of the runs that this command has watched.
        self._courses: dict[str, Course] = {}
        self._stopped: set[str | None] = set()  # the runs that it has asked to stop
        # The objective may be another one than before.
        for point in sweep.points:
            if point.outcome == SUCCEEDED:
                self.sweep = self.sweep.with_point(self.judge(point) or point)

    @property
    def is_busy(self) -> bool:
        """Whether a run goes on, which holds the slot."""
        return any(point.outcome == RUNNING for point in self.sweep.points)

    def read_run(self, point: Point) -> str | None:
        """Return the record of a point's run, None where there is none."""
        return read_text(self.home / str(point.run_id) / "run.yml")

    def judge(self, point: Point) -> Point | None:
        """Return a point with what became of its run; None where it has not ended."""
        ended = outcome.judge_point(point, point.run_id, self.read_run(point), self.sweep.objective)
        if ended is None or (course := self._courses.get(str(point.run_id))) is None:
            return ended
        if ended.outcome == SUCCEEDED:
            course.finish()
        ended = replace(ended, curve=course.curve or None)
        return replace(ended, outcome=PRUNED, why=course.why) if course.why and ended.outcome == STOPPED else ended

    def start(self, verb: str, parameters: Mapping[str, Any], name: str, output: str) -> ChildCommand:
        """Start a command on the runs of this sweep."""
        return start_child(self.request, self.home, verb, parameters, name, output)

    def watch(self, verb: str, parameters: Mapping[str, Any], point: Point, began: float) -> dict[str, Any]:
        """Show what a command does with the run of a point until it has ended; return its document."""
        document: dict[str, Any] = {}
        sample: dict[str, Any] = {}
        is_stopping = False
        best, course = text.best_value(self.sweep), Course(self.sweep.objective)
        if self.prune:
            self._courses[str(point.run_id)] = course
        with self.start(verb, parameters, point.label, "jsonl") as child:
            for output in child.lines():
                known = as_dict(parse_json(output))
                document, sample = (known, sample) if "verb" in known else (document, known or sample)
                position = text.Position(len(self._times) + 1, self.count, self._times, time.monotonic() - began)
                drawn = text.progress_text(point, position, sample, best)
                self._line.draw(drawn, str(sample.get("phase")), last=False)
                if not is_stopping and self._is_worse(course, sample):
                    why = course.why_worse(self.sweep.points)
                    self._line.say(clean(f"stopping {point.run_id}: {why}"))
                    is_stopping = self.stop(point)
                    course.why = why if is_stopping else None
                elif self.interrupt.pressed and not is_stopping:
                    is_stopping = True
                    self._line.say(f"stopping {point.run_id}")
                    if not sample or not self.stop(point):
                        child.interrupt()
            if is_stopping and not sample:
                self.stop(point)  # what had joined when the launch was ended
        return document

    def stop(self, point: Point) -> bool:
        """Stop the run of a point; return whether that was possible."""
        self._stopped.add(point.run_id)
        with self.start("stop", {"run_id": point.run_id}, point.label, "json") as child:
            document = as_dict(parse_json(child.text()))
        if child.code and self.read_run(point) is not None:
            remedy = Invocation.of(self.request).playbook("stop", "-e", f"run_id={point.run_id}")
            why = outcome.first_error(document)
            self._line.say(clean(f"{point.run_id} could not be stopped: {why}; to stop it: {remedy}"))
        return not child.code

    def _is_worse(self, course: Course, sample: Mapping[str, Any]) -> bool:
        """Return whether a run that goes on is clearly worse than others, as far as it shows that it has got."""
        is_new = self.prune and not self.interrupt.pressed and course.add(sample)
        if not is_new or self.study is None:
            return False
        if course.has_diverged:  # any run that has succeeded is better
            return any(point.value is not None for point in self.sweep.points)
        return self.study.is_worse(course.curve)

    def keep(self, point: Point) -> Point:
        """Keep what is known of a point."""
        self.sweep = self.sweep.with_point(point)
        folder.write(self.home, self.sweep)
        if self.study:
            self.study.update(self.sweep)
        return point

    def end(self, point: Point, began: float) -> Point:
        """Keep and show what has become of a point."""
        position = text.Position(len(self._times) + 1, self.count)
        self._times.append(time.monotonic() - began)
        self._line.say(text.ended_line(point, position, self.sweep.objective, point.run_id in self._stopped))
        if point.outcome == SUCCEEDED and point.value is None:
            names = ", ".join(outcome.numbers_of(point.run_id, self.read_run(point)))
            self._line.say(clean(f"  it has no value {self.sweep.objective!r} to compare it by, but {names}"))
        elif point.outcome not in DONE:
            self._line.say(clean(f"  log: {relative(self.home / point.label)}.log"))
        return self.keep(point)
