# SPDX-License-Identifier: GPL-3.0-or-later
"""What went wrong in a run, node by node, the most likely cause first."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.cause import (
    judge_launcher,
    judge_rank,
    last_exception,
    likeliest_first,
    message_of,
    split_exception,
)
from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness, read_likeness
from ansible_collections.muster.train.plugins.module_utils._records.phases import SILENT
from ansible_collections.muster.train.plugins.module_utils._records.raised import TRACEBACK
from ansible_collections.muster.train.plugins.module_utils._records.run import Progress, RankFailure, RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of

from .._text.table import one_line

# Where in its source a library failed: useful to its authors only, who find it in the log.
_SOURCE = re.compile(r"\[[^\]\s]*\.(?:cc|cpp|h|hpp|cu):\d+\] ?")


# What the C++ library prints of a thread that it has to destroy, and how docs/first-workload.md says to avoid that.
_TERMINATE = "terminate called "
_THREAD = f"{_TERMINATE}without an active exception"
_AT_EXIT = (
    "terminate called without an active exception: a library's thread still ran, as it does where the process ends "
    "before torch.distributed.destroy_process_group()"
)


@frozen
class Cause:
    """Why a run ended, as data: a rank, else a launcher or a node; exception is its type.

    oom_killed: the kernel killed the rank because memory ran out; message ends with what is known of that.
    """

    node: str
    rank: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    exception: str | None = None
    message: str | None = None
    traceback: Sequence[str] = ()
    oom_killed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**dataclasses.asdict(self), "traceback": list(self.traceback)}

    def telling(self, tail: Sequence[str]) -> Sequence[str]:
        """Return what of the last lines can explain it: of an exception or a signal its own, and of a mere exit all.

        The lines before may be warnings that it survived.
        """
        if not self.signal and not self.exception:
            return tail
        for begin in [_TERMINATE] if self.signal else [TRACEBACK, str(self.exception)]:
            numbers = [number for number, line in enumerate(tail) if begin in line]
            if numbers:
                return tail[numbers[-1] :]
        return self.traceback


@frozen
class Failure:
    """One failure on a node, as a line and as data. Time: unix seconds, None where it is not known.

    names_node: the line begins with the node, as the end of a run does.
    """

    what: str
    likeness: Likeness
    cause: Cause
    time: float | None = None
    tail: Sequence[str] = ()
    names_node: bool = False

    @property
    def text(self) -> str:
        """One line, the node first."""
        return self.what if self.names_node else f"{self.cause.node}: {self.what}"


def failures_of(run: RunRecord) -> list[Failure]:
    """Return the failures of a run on one node: its failed ranks, or why it has none."""
    node, why = str(run.node), run.why or run.phase
    if run.phase == "lost":
        return [Failure(one_line(why), Likeness.LOST, Cause(node))]
    if run.phase in SILENT:
        return [Failure(one_line(f"{run.phase}: {why}"), Likeness.SILENT, Cause(node))]
    if run.phase != "failed":
        return []
    ranks = run.failures or ([run.first] if run.first else [])
    if ranks:
        return [_of_rank(node, judge_rank(rank, ranks), _end_of_training(run.progress)) for rank in ranks]
    # A record of an earlier version has none.
    likeness = judge_launcher(run.log_tail) if run.likeness is None else read_likeness(run.likeness)
    exception, message = split_exception(last_exception(run.log_tail))
    cause = Cause(node, None, run.exit_code, run.signal, exception, message)
    names_node = run.end is not None and (run.end.node, run.end.why) == (run.node, run.why)
    return [Failure(one_line(why), likeness, cause, seconds_of(run.ended), run.log_tail, names_node)]


def _end_of_training(progress: Progress | None) -> str:
    """Return in words that all steps were done; empty if they were not, or if that is not known."""
    step, total = (progress.step, progress.total_steps) if progress else (None, None)
    return f"after all {total:.0f} steps were done" if step and total and step >= total else ""


def _of_rank(node: str, rank: RankFailure, end_of_training: str) -> Failure:
    how = f"killed by {rank.signal}" if rank.signal else f"exited with code {rank.exit_code}"
    if rank.signal is None and rank.exit_code is None:
        how = "raised an exception and did not end"
    words = message_of(rank, rank.message)
    if not words and not end_of_training and rank.signal == "SIGABRT" and _THREAD in "\n".join(rank.log_tail):
        words = _AT_EXIT
    # A rank that raised an exception, or was killed because memory ran out, failed by that.
    if not words and end_of_training:
        how = f"{how} while exiting, {end_of_training}" if rank.signal else f"{how} {end_of_training}"
    detail = f": {_SOURCE.sub('', words)}" if words else ""
    message = message_of(rank, split_exception(rank.message)[1])
    cause = Cause(
        node, rank.rank, rank.exit_code, rank.signal, rank.exception, message, rank.traceback, rank.oom_killed
    )
    what = one_line(f"rank {rank.rank} {how}{detail}")
    return Failure(what, read_likeness(rank.likeness), cause, rank.time, rank.log_tail)


def ordered(runs: Iterable[RunRecord]) -> list[Failure]:
    """Return all failures of a run, the most likely cause first."""
    return likeliest_first(failure for run in runs for failure in failures_of(run))
