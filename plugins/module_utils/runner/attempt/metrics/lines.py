# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress from the lines that a rank prints, whatever trainer prints them."""

from __future__ import annotations

import dataclasses

from ...._records.run import Progress
from ...optional import optional
from . import keras
from .pattern import MetricsPattern
from .registry import FORMATS, LineFormat, is_candidate, without_controls

# So many lines of a second are parsed, and the last one: a program that prints thousands must not delay the runner.
MOST_PER_SECOND = 200
SPEEDS = ("tokens_per_s", "samples_per_s", "steps_per_s")


def fill(progress: Progress, other: Progress | None) -> Progress:
    """Return the progress with what only the other one has; a total only to a step that it fits."""
    if other is None:
        return progress
    values = {name: value for name, value in vars(other).items() if getattr(progress, name) is None}
    if any(getattr(progress, name) is not None for name in SPEEDS):
        values = {name: value for name, value in values.items() if name not in SPEEDS}
    if progress.step is not None and "total_steps" in values and (other.total_steps or 0) < progress.step:
        del values["total_steps"]
    if progress.loss is not None:
        values.pop("first_loss", None)
    return dataclasses.replace(progress, **values)


class PrintedMetrics:
    """What the lines so far say. The lines of one rank; `world_size` makes the speed of all ranks of that of one."""

    def __init__(self, world_size: int, pattern: str | None = None) -> None:
        self._world_size = world_size
        self._pattern = MetricsPattern(pattern) if pattern else None
        self._known: dict[str, Progress] = {}  # by format
        self._epochs: tuple[int, int] | None = None  # Keras': the current one, and all
        self._bar: Progress | None = None  # the last one
        self._second, self._parsed, self._skipped = 0, 0, ""
        self._begun: dict[str, tuple[float, float]] = {}  # by format: the first step, and when it came

    def feed(self, line: str, now: float) -> None:
        """Take the next line, and its time."""
        if self._pattern is None and not is_candidate(line):
            return
        if int(now) != self._second:
            self._second, self._parsed = int(now), 0
        self._parsed += 1
        if self._parsed > MOST_PER_SECOND:
            self._skipped = line
            return
        self._skipped = ""
        self._parse(line, now)

    def close(self, now: float) -> None:
        """Read the last of the lines that were too many."""
        if self._skipped:
            self._parse(self._skipped, now)

    @optional("reading the progress in the output")
    def _parse(self, line: str, now: float) -> None:
        text = without_controls(line)
        if self._pattern is not None and (progress := self._pattern.parse(text)):
            self._note("pattern", progress, now)
        if not is_candidate(text):
            return
        self._epochs = keras.parse_epoch(text) or self._epochs
        for kind in FORMATS:
            if kind.word in text and (progress := kind.parse(text)):
                self._take(kind, progress, now)
                return

    def _take(self, kind: LineFormat, progress: Progress, now: float) -> None:
        if kind.per_rank and progress.tokens_per_s is not None:
            progress = dataclasses.replace(progress, tokens_per_s=progress.tokens_per_s * self._world_size)
        if kind.name == "keras":
            step, total = keras.of_all_epochs(progress, *self._epochs) if self._epochs else (None, None)
            progress = dataclasses.replace(progress, step=step, total_steps=total)
        if kind.name == "tqdm":
            known, self._bar = self._known.get("tqdm"), progress
            # A bar with another total is that of an evaluation, unless a loss follows it.
            if known and known.total_steps != progress.total_steps and progress.loss is None:
                return
        if kind.name == "huggingface" and self._bar is not None:
            self._note("tqdm", self._bar, now)
        self._note(kind.name, progress, now)

    def _note(self, name: str, progress: Progress, now: float) -> None:
        known = self._known.get(name, Progress())
        if progress.step is not None:
            step, at = self._begun.setdefault(name, (progress.step, now))
            if progress.step < step:  # it began anew
                self._begun[name] = (progress.step, now)
            elif progress.step > step and now > at and not any(getattr(progress, speed) for speed in SPEEDS):
                progress = dataclasses.replace(progress, steps_per_s=(progress.step - step) / (now - at))
        first = known.loss if known.first_loss is None else known.first_loss
        values = {key: value for key, value in vars(progress).items() if value is not None}
        self._known[name] = dataclasses.replace(known, **values, first_loss=progress.loss if first is None else first)

    @property
    def of_pattern(self) -> Progress | None:
        """What the user's pattern gives."""
        return self._known.get("pattern")

    @property
    def printed(self) -> Progress | None:
        """What the known formats give, that of the most specific one first."""
        parts = [self._known[kind.name] for kind in FORMATS if kind.name in self._known]
        progress = Progress()
        for other in parts:
            progress = fill(progress, other)
        return progress if parts else None
