# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rank has written of its training: the lines of `rank_NN_metrics.jsonl`, of which any may be damaged."""

from __future__ import annotations

import itertools
import math
import statistics
from array import array
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json

from .._results.rows import number

# Speeds of all ranks together, the one that says most first.
RATES = ("tokens_per_s", "samples_per_s", "steps_per_s")
# A step that takes longer than this, and so many times the median, is taken for a jump of the clock. Checkpoints and
# evaluations, which the time of a step may include, take less than a hundred steps.
JUMP_S, JUMP_FACTOR = 60.0, 100.0
UNKNOWN = math.nan
LARGEST = 3.4e38  # of the numbers that a program of float32 has
BATCH = 200


@frozen
class Oddity:
    """What is odd in the lines of a rank: how often, and at which step first; value is a time in seconds, or a step."""

    kind: str
    rank: int
    count: int = 1
    step: float | None = None
    value: float | None = None


@frozen
class RankMetrics:
    """The lines of a rank in their order, with NaN for what one does not have. Times are seconds.

    rate names the speeds.
    """

    rank: int
    steps: Sequence[float]
    losses: Sequence[float]
    step_times: Sequence[float]
    rates: Sequence[float]
    rate: str | None
    oddities: Sequence[Oddity]


def read_rank(rank: int, lines: Iterable[bytes]) -> RankMetrics:
    """Read the lines of a rank. A step that a line does not have is one more than that of the line before."""
    reader, rest = _Reader(rank), iter(lines)
    while batch := list(itertools.islice(rest, BATCH)):
        # To read some lines at once takes half the time, where none of them is damaged.
        records = parse_json(b"[" + b",".join(batch) + b"]")
        is_whole = isinstance(records, list) and len(records) == len(batch)
        for line, record in zip(batch, records if is_whole else map(parse_json, batch), strict=True):
            if isinstance(record, dict):
                reader.take(record)
            elif line.strip():
                reader.note("broken")
    return reader.finish()


class _Reader:
    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._steps, self._losses, self._times, self._rates = (array("d") for _metric in range(4))
        self._rate: str | None = None
        self._clock: tuple[float, float] | None = None  # of the line before: its time, and its step
        self._oddities: dict[str, Oddity] = {}

    def note(self, kind: str, step: float | None = None, value: float | None = None) -> None:
        """Count an oddity, of which the first one is described."""
        known = self._oddities.get(kind)
        self._oddities[kind] = (
            Oddity(kind, self._rank, 1, step, value)
            if known is None
            else Oddity(kind, self._rank, known.count + 1, known.step, known.value)
        )

    def take(self, record: dict[str, object]) -> None:
        """Take what a line says."""
        before = self._steps[-1] if self._steps else 0.0
        step = _finite(record.get("global_step", record.get("step")))
        step = before + 1 if step is None else step
        if step < before:
            self.note("backwards", step, before)
        loss = number(record.get("loss"))
        if loss is not None and not abs(loss) <= LARGEST:
            self.note("not_finite", step)
            loss = None
        if self._rate is None:
            self._rate = next((name for name in RATES if _finite(record.get(name)) is not None), None)
        rate = _finite(record.get(self._rate)) if self._rate else None
        self._steps.append(step)
        self._losses.append(UNKNOWN if loss is None else loss)
        self._times.append(self._step_time(record, step))
        self._rates.append(UNKNOWN if rate is None else rate)

    def _step_time(self, record: dict[str, object], step: float) -> float:
        """Return how long a step took: as the line says, or by its time and that of the line before."""
        milliseconds = _finite(record.get("step_ms"))
        if milliseconds is not None:
            return milliseconds / 1000
        speed = _finite(record.get("steps_per_s"))
        if speed and abs(speed) > 1 / LARGEST:
            return 1 / speed
        now, before = _finite(record.get("time")), self._clock
        self._clock = None if now is None else (now, step)
        if now is None or before is None or step <= before[1]:
            return UNKNOWN
        return (now - before[0]) / (step - before[1])

    def finish(self) -> RankMetrics:
        """Return what was read, without the step times that no training can have had."""
        known = [time for time in self._times if time > 0]
        limit = max(JUMP_S, JUMP_FACTOR * statistics.median(known)) if known else JUMP_S
        for index, time in enumerate(self._times):
            if time <= 0 or time > limit:
                self.note("clock", self._steps[index], time)
                self._times[index] = UNKNOWN
        if not self._steps and not self._oddities:
            self.note("empty")
        return RankMetrics(
            rank=self._rank,
            steps=self._steps,
            losses=self._losses,
            step_times=self._times,
            rates=self._rates,
            rate=self._rate,
            oddities=list(self._oddities.values()),
        )


def _finite(value: object) -> float | None:
    known = number(value)
    return known if known is not None and abs(known) <= LARGEST else None
