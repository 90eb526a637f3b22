# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a node's part of an attempt is, from whichever source tells it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from ...._records.job import Job
from ...._records.run import Progress
from ...optional import optional
from .. import progress
from ..progress import Stamps
from .lines import PrintedMetrics, fill
from .registry import WORDS
from .written import Written, find, places

Watch = tuple[Callable[[str, float], None], Sequence[bytes]]


def trainer_files(job: Job) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files in which a trainer may have left the progress of an earlier attempt. Waits for the storage."""
    return find(places(job.output_dir, job.cwd))


class Metrics:
    """The sources, the first of which that has a value counts.

    They are what the program writes for Muster (`rank_NN_metrics.jsonl`), what the user's pattern finds in the lines of
    the lowest rank here and of the launcher, the trainer's own files, and the trainer's lines.
    `watches` take the lines of the lowest rank and of the launcher (None).
    """

    def __init__(self, job: Job, earlier: Stamps, launcher: Callable[[str, float], None] | None = None) -> None:
        """Launcher: what gets the lines of the launcher besides."""
        self._ranks = job.ranks if job.shares_outputs else None
        self._output_dir, self._earlier = job.output_dir, earlier
        self._lines = PrintedMetrics(job.world_size, job.metrics_pattern)
        self._written = Written(places(job.output_dir, job.cwd), earlier)
        self._launcher = launcher

        # What the user's pattern matches has words that are not known here.
        words = () if job.metrics_pattern else WORDS
        watch: Watch = (self._lines.feed, words)
        self.watches: dict[int | None, Watch] = {
            None: (self._feed_launcher, ()) if launcher else watch,
            job.first_rank: watch,
        }

    def _feed_launcher(self, line: str, now: float) -> None:
        self._lines.feed(line, now)
        if self._launcher is not None:
            self._launcher(line, now)

    def close(self, now: float) -> None:
        """Read the last lines."""
        self._lines.close(now)

    @optional("reading the progress")
    def look(self, is_last: bool = False) -> Progress | None:
        """Return the progress, None before there is any. Waits for the storage."""
        reported = progress.read_progress(self._output_dir, self._earlier, self._ranks)
        if reported is not None:
            return reported
        result = Progress()
        for source in (self._lines.of_pattern, self._written.look(is_last), self._lines.printed):
            result = fill(result, source)
        return None if result == Progress() else result

    def ranks(self) -> list[int]:
        """Return the ranks that a program which starts them itself has reported. Waits for the storage."""
        return progress.read_ranks(self._output_dir, self._earlier, self._ranks)
