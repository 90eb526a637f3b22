# SPDX-License-Identifier: GPL-3.0-or-later
"""The trace of a rank in numbers: for how long it computed and communicated, and for how long both at once.

The words are those of Holistic Trace Analysis: what a GPU does is communication where a kernel is NCCL's or RCCL's,
memory where it copies or fills, else computation. A trace without a GPU is judged by what its CPUs do: the operators of
ATen compute, the work of a process group communicates.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from ..._results.rows import number
from .events import DamagedTrace, TraceStream
from .intervals import Intervals, length, overlap

COMPUTE, COMMUNICATION, MEMORY = "compute", "communication", "memory"
DAMAGED, EMPTY, FOREIGN, TOO_LARGE = "damaged", "empty", "foreign", "too_large"
# NCCL's and RCCL's kernels, and those of MSCCL, which RCCL has for small messages.
_COLLECTIVE = re.compile("nccl|rccl|mscclKernel", re.IGNORECASE)
_GPU_COPIES = ("gpu_memcpy", "gpu_memset")
# What a process group records on the CPU, by the name of its backend: `gloo:all_reduce`.
_WORK = re.compile("(?:gloo|mpi|nccl|ucc|xccl):")
_RANK = re.compile(r'"distributedInfo"\s*:\s*\{[^{}\[\]]*?"rank"\s*:\s*([0-9]{1,7})\b')
_RANK_OF_FILE = re.compile(r"rank[_-]?([0-9]{1,7})(?![0-9])")
_STEP = re.compile("ProfilerStep#([0-9]{1,12})")


@frozen
class TraceSummary:
    """A trace: times in seconds; steps are those that it has, window_s is from the first to the last thing that counts.

    problem: damaged (what is missing is at its end), empty, foreign (it has nothing that counts) or too_large (it was
    not read), None for none of them.
    """

    file: str
    rank: int | None = None
    on_gpu: bool = False
    steps: int = 0
    window_s: float = 0.0
    compute_s: float = 0.0
    communication_s: float = 0.0
    memory_s: float = 0.0
    overlap_s: float = 0.0
    idle_s: float = 0.0
    problem: str | None = None


def read_trace(file: str, read: Callable[[int], str]) -> TraceSummary:
    """Read a trace; `read` returns the next part of its text, and an empty one at its end."""
    name = _RANK_OF_FILE.search(file.rpartition("/")[2])
    rank = int(name[1]) if name else None
    is_empty = True

    def read_part(size: int) -> str:
        nonlocal is_empty
        text = read(size)
        is_empty = is_empty and not text
        return text

    try:
        stream = TraceStream(read_part)
    except DamagedTrace:
        return TraceSummary(file, rank, problem=EMPTY if is_empty else FOREIGN)
    match = _RANK.search(stream.head)
    times, problem = _Times(), None
    try:
        for event in stream.events():
            times.take(event)
    except DamagedTrace:
        problem = DAMAGED
    return times.summary(file, int(match[1]) if match else rank, problem)


class _Times:
    """The intervals of a trace by their kinds, those of the GPU and those of the CPU."""

    def __init__(self) -> None:
        self._intervals: dict[tuple[bool, str], Intervals] = {}
        self._steps: set[str] = set()

    def take(self, event: dict[str, Any]) -> None:
        """Take an event; one that is not of an interval, or is of no kind, does not count."""
        name, category = event.get("name"), event.get("cat")
        if event.get("ph") != "X" or not isinstance(name, str) or not isinstance(category, str):
            return
        begin, duration = number(event.get("ts")), number(event.get("dur"))
        if begin is None or duration is None or not (abs(begin) < 1e18 and 0 <= duration < 1e15):
            return
        if step := _STEP.fullmatch(name):
            self._steps.add(step[1])
        elif kind := _kind(name, category):
            self._intervals.setdefault(kind, Intervals()).add(begin, begin + duration)

    def summary(self, file: str, rank: int | None, problem: str | None) -> TraceSummary:
        on_gpu = any(kind[0] for kind in self._intervals)
        unions = {
            kind: self._intervals[on_gpu, kind].union() if (on_gpu, kind) in self._intervals else []
            for kind in (COMPUTE, COMMUNICATION, MEMORY)
        }
        busy = Intervals()
        for begin, end in (part for union in unions.values() for part in union):
            busy.add(begin, end)
        parts = busy.union()
        window = parts[-1][1] - parts[0][0] if parts else 0.0
        microseconds = {
            "window_s": window,
            **{f"{kind}_s": length(union) for kind, union in unions.items()},
            "overlap_s": overlap(unions[COMPUTE], unions[COMMUNICATION]),
            "idle_s": window - length(parts),
        }
        seconds = {name: max(0.0, value) / 1e6 for name, value in microseconds.items()}
        problem = problem or (None if parts else FOREIGN)
        return TraceSummary(file, rank, on_gpu, len(self._steps), **seconds, problem=problem)


def _kind(name: str, category: str) -> tuple[bool, str] | None:
    """Return whether an event is one of the GPU, and its kind; None where it does not count."""
    if category == "kernel":
        return True, COMMUNICATION if _COLLECTIVE.search(name) else COMPUTE
    if category in _GPU_COPIES:
        return True, MEMORY
    if category in ("cpu_op", "user_annotation") and (_WORK.match(name) or name.startswith("c10d::")):
        return False, COMMUNICATION
    return (False, COMPUTE) if category == "cpu_op" and name.startswith("aten::") else None
