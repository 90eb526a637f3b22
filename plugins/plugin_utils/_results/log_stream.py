# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs while they grow: what is new in a node's files, and the lines of all nodes merged by time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .grep import Grep
from .log_frames import FilePart
from .report import label, log_line

_STAMPED = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ?")
_NAME = re.compile(r"(?:node|rank_(\d{1,9}))(?:\.first|\.previous)?\.log")
MIB = 1 << 20
# Of a line: what a screen may show of it.
SHOWN_CHARACTERS = 4096
# So long are lines held for a node that does not answer, and this many lines at all.
WINDOW_S = 1.5
MOST_HELD = 20_000
# What all nodes together send at a time, and each one at most and at least.
ALL_BYTES, NODE_BYTES, FILE_BYTES = 4 * MIB, MIB, 16 << 10


def names_of(rank: int | None) -> str:
    """Return the pattern of the files with the lines of a rank, of all without one."""
    return "node.log node.*.log rank_*.log" if rank is None else f"rank_{rank:02d}.log rank_{rank:02d}.*.log"


def most_bytes(nodes: int, files: int) -> int:
    """Return how much of each file is read at a time: memory is bounded whatever the ranks write."""
    return max(FILE_BYTES, min(NODE_BYTES, ALL_BYTES // max(1, nodes)) // max(1, files))


@frozen
class LogLine:
    """One line of a node: the runner's time of it, its rank (None: the launcher), and its text, ready to be shown."""

    time: str
    node: str
    rank: int | None
    text: str


class GrowingLogs:
    """The logs of one node: how far they were read."""

    def __init__(self, node: str, grep: Grep) -> None:
        self.positions: dict[str, int] = {}
        self._node = node
        self._grep = grep
        self._has_begun = False

    def take(self, parts: Iterable[FilePart]) -> list[LogLine]:
        """Return the new lines in the order of their times; what is skipped is a line of its own."""
        positions: dict[str, int] = {}
        lines: list[LogLine] = []
        for part in parts:
            match = _NAME.fullmatch(part.name)
            if match is None:
                continue
            rank = int(match[1]) if match[1] else None
            before = self.positions.get(part.inode, 0)
            skipped = max(0, part.start - before)
            end = part.data.rfind(b"\n") + 1 or len(part.data)
            positions[part.inode] = part.start + end
            # What was skipped ends within a line.
            whole = part.data[part.data.find(b"\n") + 1 if skipped else 0 : end]
            entries = self._lines(whole, rank)
            if skipped and self._has_begun:
                at = entries[0].time if entries else ""
                text = f"… {skipped / MIB:.1f} MiB skipped: more is written than can be shown"
                lines.append(LogLine(at, self._node, rank, text))
            lines += entries
        self.positions, self._has_begun = positions, True
        lines.sort(key=lambda line: line.time)
        return lines

    def _lines(self, data: bytes, rank: int | None) -> list[LogLine]:
        lines: list[LogLine] = []
        at = ""
        for raw in data.removesuffix(b"\n").split(b"\n") if data else ():
            match = _STAMPED.match(raw)
            at = match[1].decode() if match else at
            rest = raw[match.end() if match else 0 :][:SHOWN_CHARACTERS]
            lines.append(LogLine(at, self._node, rank, clean(rest.decode("utf-8", "replace"))))
        return [
            line
            for line, is_match in zip(lines, self._grep.matches(line.text for line in lines), strict=True)
            if is_match
        ]


class Merger:
    """The lines of all nodes in the order of their times, as far as they are known.

    A line is due when each node has answered after it came, or after a while: clocks may differ and nodes be silent.
    """

    def __init__(self, nodes: Sequence[str], first: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: int | None = first  # of the lines that were there before, only the last ones are shown
        self._began = clock()
        self._heard: dict[str, float | None] = dict.fromkeys(nodes)
        self._held: list[tuple[float, LogLine]] = []

    def add(self, node: str, lines: Iterable[LogLine]) -> None:
        """Take the answer of a node."""
        now = self._clock()
        self._heard[node] = now
        self._held += [(now, line) for line in lines]

    def forget(self, node: str) -> None:
        """Wait for this node no more, until it answers again."""
        self._heard.pop(node, None)

    def due(self, at_end: bool = False) -> list[LogLine]:
        """Return the lines that are due."""
        now = self._clock()
        heard = [self._began if at is None else at for at in self._heard.values()]
        has_all = None not in self._heard.values()
        # Of the first lines all are due at once, or those of a node that answers later would all be shown.
        is_first = self._first is not None and has_all
        window = WINDOW_S if self._first is None else 2 * WINDOW_S
        limit = now if is_first else max(min(heard, default=now), now - window)
        arrived = [line.time for at, line in self._held if at_end or at <= limit]
        if not at_end and self._first is not None and not has_all and now - self._began < 2 * WINDOW_S:
            return []
        if len(self._held) > MOST_HELD or at_end:
            taken, kept = self._held, []
        elif arrived:
            last = max(arrived)
            taken = [held for held in self._held if held[1].time <= last]
            kept = [held for held in self._held if held[1].time > last]
        else:
            taken, kept = [], self._held
        lines = sorted((line for _at, line in taken), key=lambda line: line.time)
        self._held = kept
        if self._first is not None:
            lines, self._first = lines[-self._first :], None
        return lines


class Page:
    """Lines as text: the column of the ranks only grows."""

    def __init__(self) -> None:
        self._width = 0

    def text(self, lines: Iterable[LogLine]) -> list[str]:
        """Return the lines as they are shown."""
        shown = [(line, clean(label(line.node, line.rank))) for line in lines]
        self._width = max([self._width, *(len(who) for _line, who in shown)])
        return [log_line(line.time, who, line.text, self._width) for line, who in shown]
