# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs through the runner's own pipes: stamped, capped, and never able to block or kill a rank."""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import re
import time
from collections.abc import Callable, Sequence

from .. import files
from ..disk import DiskThread
from .printed import Printed

LONGEST_LINE = 64 * 1024
# Lines of a log in the state, and bytes per line: the state must fit into the space reserved for it.
TAIL_LINES, TAIL_BYTES = 40, 1024
# How often a log looks whether a cleaner has removed its file.
LOOK_S = 1.0
# How often a progress bar, which writes over itself, becomes a line of the log.
REDRAWN_EVERY_S = 2.0

_STEP = re.compile(
    r"(?<!total )(?<!max )(?<!num )\b(?:global[_ ]?)?(?:step|iter|iteration)s?"
    r"(?: {1,20}[=:#\[]{0,2}|[=:#\[]{1,2}) {0,20}([0-9]{1,12})\b",
    re.IGNORECASE | re.ASCII,
)


def stamp(seconds: float) -> str:
    """Return a UTC time like ``2026-11-20T14:30:52.123Z``."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}Z"


class CappedLog:
    """A log of at most `limit` bytes in three files: its beginning (kept forever), the previous and the current part.

    The start shows which fabric NCCL chose, the end shows why a rank died; the middle may be dropped. A line that is
    written over (a carriage return) is logged as a terminal would show it now and then, and as it is in the end.
    """

    def __init__(
        self,
        path: str,
        limit: int,
        disk: DiskThread,
        watch: Callable[[str, float], None] | None = None,
        words: Sequence[bytes] = (),
    ) -> None:
        self.path = path
        # Gets each line that has one of the words (none: each line), as a terminal shows it, and its time.
        self._watch = watch
        self._words = words
        self._disk = disk
        self.dropped = 0
        self.step: int | None = None  # the last one that a line names
        self.tail: collections.deque[str] = collections.deque(maxlen=TAIL_LINES)
        self.printed = Printed()
        self._part = max(4096, limit // 3)
        self._descriptor: int | None = None
        self._size = 0
        self._next_look = 0.0
        self._partial = b""  # of a line that was written over, what a terminal shows of it
        self._is_redrawn = False
        self._redrawn: bytes | None = None  # what the log has of the line that has not ended
        self._redrawn_at = 0.0

    def feed(self, data: bytes, now: float) -> None:
        """Take bytes as they come; whole lines are stamped and written."""
        lines = (self._partial + data).split(b"\n")
        self._partial = lines.pop()
        if lines:
            self._end_lines(lines, now)
        if b"\r" in self._partial:
            self._is_redrawn = True
            # A carriage return at the end may yet be followed by a newline.
            self._partial = _shown(self._partial) + b"\r" * self._partial.endswith(b"\r")
        if len(self._partial) > LONGEST_LINE:
            pieces = len(self._partial) // LONGEST_LINE * LONGEST_LINE
            lines = [self._partial[at : at + LONGEST_LINE] for at in range(0, pieces, LONGEST_LINE)]
            self._partial = self._partial[pieces:]
            self._end_lines(lines, now)
        self.tick(now)

    def tick(self, now: float) -> None:
        """Write a line that is written over again and again, when it is due."""
        if not self._is_redrawn or abs(now - self._redrawn_at) < REDRAWN_EVERY_S:
            return
        shown = _shown(self._partial)
        if shown != self._redrawn and not shown.isspace():
            self._write_lines([shown], now)
            self._redrawn, self._redrawn_at = shown, now

    def close(self, now: float) -> None:
        """Write what is left of the last line and close."""
        if self._partial:
            self._end_lines([self._partial], now)
            self._partial = b""
        self._disk.add(self._close)

    def _end_lines(self, lines: list[bytes], now: float) -> None:
        shown = list(map(_shown, lines))
        # What was written over may end as it was last logged, or with blanks that wipe it out.
        if self._redrawn is not None and (shown[0] == self._redrawn or not shown[0].strip()):
            self._redrawn = None
            del shown[0]
        self._write_lines(shown, now)
        self._is_redrawn, self._redrawn = False, None

    def _write_lines(self, lines: list[bytes], now: float) -> None:
        """Log lines, the first of which takes the place of the one that the log has of the same line, if any."""
        if not lines:
            return
        prefix = stamp(now).encode() + b" "
        if self._redrawn is not None and self.tail:
            self.tail.pop()
        if self._watch is not None:
            for line in lines_with(self._words, lines):
                self._watch(_text(line), now)
        for line in lines[-TAIL_LINES:]:
            self.tail.append(_text(line))
            self.step = step_in(self.tail[-1], self.step)
        self.printed.take(lines, now, self.step)
        data = b"".join(prefix + line + b"\n" for line in lines)
        self._disk.add(functools.partial(self._save, data), len(data))

    # -- on the disk thread --------------------------------------------------------------------------------------

    def _save(self, data: bytes) -> None:
        try:
            self._write(data)
        except OSError:
            self.dropped += len(data)

    def _close(self) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _write(self, data: bytes) -> None:
        now = time.monotonic()
        if self._descriptor is not None and now >= self._next_look:
            self._next_look = now + LOOK_S
            if not files.is_at(self._descriptor, self.path):
                self._close()
        if self._descriptor is not None and self._size + len(data) > self._part:
            self._rotate()
        if self._descriptor is None:
            self._descriptor = files.create(self.path, os.O_WRONLY | os.O_APPEND)
            self._size = os.fstat(self._descriptor).st_size
        written = os.write(self._descriptor, data)
        self._size += written
        self.dropped += len(data) - written

    def _rotate(self) -> None:
        stem = self.path[: -len(".log")]
        first = stem + ".first.log"
        with contextlib.suppress(FileNotFoundError):  # a cleaner has removed it
            os.replace(self.path, stem + ".previous.log" if os.path.exists(first) else first)
        self._close()


def lines_with(words: Sequence[bytes], lines: Sequence[bytes]) -> Sequence[bytes]:
    """Return the lines that have one of the words, all where there are no words; most have none, and cost little."""
    if not words:
        return lines
    text = b"\n".join(lines)
    present = [word for word in words if word in text]
    return [line for line in lines if any(word in line for word in present)] if present else ()


def step_in(line: str, default: int | None = None) -> int | None:
    """Return the step that a line of a training log names: `step 25/120`, `iteration: 7`, `global_step=3`."""
    match = _STEP.search(line)
    return int(match.group(1)) if match else default


def _shown(line: bytes) -> bytes:
    """Return what a terminal shows of a line: of one that was written over, the last part that is not blank."""
    if b"\r" not in line:
        return line
    parts = line.split(b"\r")
    return next((part for part in reversed(parts) if part.strip()), parts[-1])


def _text(line: bytes) -> str:
    """Return the first part of a line as text."""
    return line[:TAIL_BYTES].decode("utf-8", "replace")
