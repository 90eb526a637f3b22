# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ranks failed of a program that starts them itself: as torch names them in the program's output.

The program is the parent of its ranks, so the runner does not get their exit statuses.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re
import signal
from collections.abc import Sequence

from ..._records.job import Job
from ..._records.raised import TRACEBACK
from ..._records.run import RankFailure
from .launcher_failure import describe
from .logs import TAIL_LINES

# An uncaught exception of a rank with a process group (distributed_c10d.py, _distributed_excepthook).
_RANK = re.compile(r"\[rank([0-9]{1,7})\]:(?: (.*))?$")
# Between the tracebacks of exceptions that belong together (traceback.py).
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
# A process of torch.multiprocessing.spawn that raised, or that ended (multiprocessing/spawn.py, ProcessContext.join).
_RAISED = re.compile(r"-- Process ([0-9]{1,5}) terminated with the following error:$")
_ENDED = re.compile(r".*ProcessExitedException: process ([0-9]{1,5}) terminated with (?:signal (\w+)|exit code (\d+))$")
# The table of failures of a torchrun or accelerate that the program runs (elastic/multiprocessing/errors).
_TABLE_RANK = re.compile(r" +rank +: ([0-9]{1,7}) \(local_rank: [0-9]+\)$")
_TABLE_CODE = re.compile(r" +exitcode +: (-?[0-9]{1,5}) \(pid: [0-9]+\)$")
MOST_RANKS = 1024


@dataclasses.dataclass
class _Named:
    """What the output says of one rank, or of one process of a node; code is negative for a signal."""

    code: int | None = None
    time: float | None = None
    tail: collections.deque[str] = dataclasses.field(default_factory=lambda: collections.deque(maxlen=TAIL_LINES))


class Workers:
    """The ranks and processes that the output names, by number; lines come in the order in which they were printed."""

    def __init__(self) -> None:
        self._ranks: dict[int, _Named] = {}
        self._processes: dict[int, _Named] = {}
        self._current: _Named | None = None  # whose traceback goes on
        self._has_ended = False  # that traceback, unless another exception follows from it
        self._in_table: _Named | None = None

    def feed(self, line: str, now: float) -> None:
        """Take the next line of the output."""
        if match := _RANK.match(line):
            named = self._of(self._ranks, match[1])
            named.tail.append(match[2] or "")
            if named.tail[-1].startswith(TRACEBACK):
                self._fail(named, 1, now)
        elif match := _RAISED.match(line):
            self._current, self._has_ended = self._of(self._processes, match[1]), False
            self._fail(self._current, 1, now)
        elif match := _ENDED.match(line):
            self._fail(self._of(self._processes, match[1]), _code(match[2], match[3]), now)
        elif match := _TABLE_RANK.match(line):
            self._in_table = self._of(self._ranks, match[1])
        elif self._in_table is not None and (match := _TABLE_CODE.match(line)):
            self._in_table.code = int(match[1])
            self._fail(self._in_table, int(match[1]), now)
            self._in_table = None
        elif self._current is not None:
            self._continue_traceback(self._current, line)

    def _continue_traceback(self, named: _Named, line: str) -> None:
        """Add a line of a traceback, which ends with the line of its exception; forget the process after that."""
        if self._has_ended and line and not line.startswith(_CHAINED):
            self._current = None
            return
        named.tail.append(line)
        # Frames are indented, and an empty line follows the exception before it.
        self._has_ended = not line if self._has_ended else bool(line) and not line.startswith((" ", TRACEBACK))

    @staticmethod
    def _of(named: dict[int, _Named], number: str) -> _Named:
        return named.setdefault(int(number), _Named()) if len(named) < MOST_RANKS else _Named()

    @staticmethod
    def _fail(named: _Named, code: int, now: float) -> None:
        named.code = code if named.code is None else named.code
        named.time = now if named.time is None else named.time

    def failures(self, job: Job, ranks: Sequence[int], before: float = math.inf) -> list[RankFailure]:
        """Return the ranks that failed before a time; `ranks` are those that the program has reported on this node."""
        failed = dict(self._ranks)
        for process, named in self._processes.items():
            rank = _rank_of(process, job, ranks)
            if rank is not None:
                failed.setdefault(rank, named)
        failures = []
        for rank, named in failed.items():
            if named.code is not None and (named.time or 0.0) < before:
                failure = describe({"rank": rank, "code": named.code, "time": named.time})
                failures.append(dataclasses.replace(failure, log_tail=list(named.tail)))
        return failures


def _rank_of(process: int, job: Job, ranks: Sequence[int]) -> int | None:
    """Return the rank of a node's process: by the plan, unless the program has reported other ranks."""
    if process < job.nproc and all(rank in job.ranks for rank in ranks):
        return job.first_rank + process
    return ranks[process] if process < len(ranks) else None


def _code(name: str | None, code: str | None) -> int:
    """Return the code of an end by a signal's name, as negative number, or by an exit code."""
    if name is None:
        return int(code or 1)
    return -int(getattr(signal, name, signal.SIGKILL))
