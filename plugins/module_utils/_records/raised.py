# SPDX-License-Identifier: GPL-3.0-or-later
"""The exception that ended a Python program, read from what it prints, line by line and in bounded memory.

Python prints an uncaught exception as a traceback at column 0, with those that led to it before it (traceback.py), and
only then runs what is to be done at exit: what a program prints last says little. torch puts the rank before each line.
The traceback of a worker process in a message is that of the exception itself. One whose introduction says that the
program goes on counts only where there is no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .frozen import field, frozen

TRACEBACK = "Traceback (most recent call last)"
# Frames of a recursion are summed up by Python, and those of a compiler's trace may be hundreds.
MOST_LINES, MOST_MESSAGE_LINES, MOST_BYTES = 200, 60, 1024
# torch's log has no blank there: `[rank0]:[W1120 ...`.
_RANK = re.compile(r"\[rank[0-9]{1,7}\]:(?: |$)")
_GROUP = "  + Exception Group " + TRACEBACK
# mp.spawn and data loaders quote the traceback of their worker.
_QUOTED = ("Original " + TRACEBACK, TRACEBACK)
_CHAINS = {
    "The above exception was the direct cause of the following exception:": "caused by",
    "During handling of the above exception, another exception occurred:": "while handling",
}
# Before a traceback after which the process goes on, or is about to end anyway.
_ASIDE = re.compile(
    r"Exception ignored in|Error in atexit|Exception in thread|Process \S{1,60}:$|--- Logging error ---"
    r"|\w+ exception was never retrieved|future: <"
)
# Lines of messages of several lines: of mp.spawn, of a pool and of NCCL.
_OF_LIBRARIES = ("-- Process", '"""', "nccl", "Last error:")
# The modules, classes and functions before the name of a class, and its name.
SCOPE, NAME = r"(?:(?:[^\W\d]\w*|<locals>)\.)*", r"[^\W\d]\w*"
_LINE = re.compile(rf"({SCOPE}{NAME}(?:\([\w.]+\))?)(?:: ?(.*))?$", re.DOTALL)
# A line of another writer, after a message without a rank: a logger's or tracker's name, a time, a tag, a table. A list
# is none: `[2, 3] against [4, 5]`.
_OTHER = re.compile(
    r"[\w.-]{1,30}(?: [A-Z]{4,8})?: |[\w.-]{1,30}:$|\[(?:[^\],]{1,60}\]|[A-Z]|[0-9]{2,4}[-:/])|\{"
    r"|[0-9]{2,4}[-:/][0-9]{2}|[A-Z]{4,8}[: ]|[^\x00-\x7f]|[-=*#~]{3}|(?i:step|epoch|iter)|Exception ignored in"
    r"|terminate called|Fatal Python error|free\(\)|double free"
)


@frozen
class Raised:
    """An exception as Python printed it: its type, the text with all its lines, the traceback with what led to it.

    because: what it was raised from, as "caused by ValueError: no such layer". time is that of its last line (unix
    seconds). is_aside: the process may have gone on. is_uncaught: torch printed it because nothing caught it (its
    excepthook puts the rank before each line); else a program may have printed it and gone on.
    """

    exception: str
    message: str
    traceback: list[str] = field(default_factory=list)
    because: str | None = None
    time: float | None = None
    is_aside: bool = False
    is_uncaught: bool = False

    @property
    def would_end(self) -> bool:
        """Whether the process would have ended by it, had nothing held it up."""
        return self.is_uncaught and not self.is_aside


class TracebackReader:
    """Reads the lines of one process as they come; `raised` is the exception that counts so far."""

    def __init__(self) -> None:
        self._counts: Raised | None = None
        self._aside: Raised | None = None
        self._before = ""  # the line before a traceback, which introduces it
        self._is_aside = False
        self._frames: list[str] = []
        self._type: str | None = None  # once the line of the exception was printed
        self._message: list[str] = []
        self._chained: str | None = None  # how the next traceback of the chain follows
        self._because: str | None = None
        self._has_rank = False
        self._is_uncaught = False  # all lines before that of the exception have the rank
        self._now: float | None = None
        self._time: float | None = None  # of the last line of the traceback

    @property
    def is_open(self) -> bool:
        """Whether a traceback has begun whose end is not known, so that the next lines are needed."""
        return bool(self._frames)

    @property
    def raised(self) -> Raised | None:
        """Return the last exception that ended the process, else one after which it may have gone on."""
        current = self._finished()
        if current is not None and not current.is_aside:
            return current
        return self._counts or current or self._aside

    def forget(self) -> None:
        """Drop what was read: the program has gone on since."""
        self._counts = self._aside = None
        self._end()

    def feed(self, line: str, now: float | None = None) -> None:
        """Take the next line, and its time."""
        line = line[:MOST_BYTES]
        self._now = now
        has_rank = bool(_RANK.match(line))
        text = _RANK.sub("", line, count=1)
        if text.startswith((*_QUOTED, _GROUP)):
            self._begin(text, has_rank)
        elif self._frames:
            self._continue(text, has_rank)
        else:
            self._before = text or self._before

    def _begin(self, text: str, has_rank: bool) -> None:
        """Begin a traceback: the next of a chain, one that the message quotes, or a new one."""
        finished = self._finished()
        continues = finished is not None and (self._chained is not None or self._quotes(text))
        if finished is not None and continues:
            first = finished.message.partition("\n")[0]
            line = f"{finished.exception}: {first}" if first else finished.exception
            # Of a worker's exception, the one that passes it on says nothing more.
            self._because = f"{self._chained} {line}" if self._chained else self._because
        else:
            self._end()
            self._is_aside = bool(_ASIDE.match(self._before))
        self._add(text)
        self._type, self._message, self._chained = None, [], None
        self._is_uncaught = has_rank and (self._is_uncaught or not continues)
        self._has_rank = has_rank

    def _quotes(self, text: str) -> bool:
        """Return whether a traceback belongs to the message before it."""
        last = next((line for line in reversed(self._message) if line), "")
        return text.startswith("Original ") or last.endswith("terminated with the following error:") or last == '"""'

    def _continue(self, text: str, has_rank: bool) -> None:
        if self._has_rank and not has_rank and self._type is None:
            self._is_uncaught = False
            self._has_rank = not text.startswith('  File "')  # the program itself put it before the first line only
        if self._has_rank and not has_rank and (text or self._type is None):
            return  # of another thread, between the lines that torch prints; those that are empty have no rank
        if self._type is None:
            self._take_frame(text)
        elif text.strip() in _CHAINS:
            self._chained = _CHAINS[text.strip()]
            self._add(text)
        elif self._chained is None and not self._is_message(text, has_rank):
            self._end()
            self._before = text
        elif self._chained is None and len(self._message) < MOST_MESSAGE_LINES:
            self._message.append(text)
            self._add(text)

    def _take_frame(self, text: str) -> None:
        shown = text[4:] if text.startswith("  | ") else text
        match = None if not shown or shown.startswith((" ", "+")) else _LINE.match(shown)
        self._add(text)
        if match:
            self._type, self._message = match.group(1), [match.group(2) or ""]
        elif shown and not shown.startswith((" ", "+")):
            self._frames = []  # a traceback that was cut

    def _is_message(self, text: str, has_rank: bool) -> bool:
        """Return whether a line after that of the exception can be a part of its message."""
        if has_rank or self._has_rank:
            return self._has_rank
        if not text or text.startswith((" ", "\t")):
            return True
        last = self._message[-1] if self._message else ""
        if self._quotes("") or text.startswith(_OF_LIBRARIES):
            return True
        if last or not any(self._message):
            return not _OTHER.match(text)
        # After an empty line, only what the line before it announces.
        before = next((line for line in reversed(self._message) if line), "")
        return before.rstrip().endswith(":") and not _OTHER.match(text)

    def _add(self, text: str) -> None:
        self._time = self._now
        self._frames.append(text)
        if len(self._frames) > MOST_LINES:
            del self._frames[1 : 1 + len(self._frames) - MOST_LINES]

    def _finished(self) -> Raised | None:
        """Return the exception of the traceback that is read, None before its line."""
        if self._type is None or not self._frames:
            return None
        message, frames = "\n".join(self._message).strip(), list(self._frames)
        while frames and not frames[-1].strip():
            frames.pop()
        return Raised(self._type, message, frames, self._because, self._time, self._is_aside, self._is_uncaught)

    def _end(self) -> None:
        finished = self._finished()
        if finished is not None and finished.is_aside:
            self._aside = finished
        elif finished is not None:
            self._counts = finished
        self._frames, self._type, self._message, self._chained, self._because = [], None, [], None, None


def read_raised(lines: Iterable[str]) -> Raised | None:
    """Return the exception that ended a process, by its whole output or its end."""
    reader = TracebackReader()
    for line in lines:
        reader.feed(line)
    return reader.raised
