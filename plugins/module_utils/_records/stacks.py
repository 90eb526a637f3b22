# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the ranks of a node are in their Python code."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from .._text.printable import clean
from .document import Document
from .frozen import field, frozen

# More than faulthandler writes, and than a launch starts on one node.
MOST_FRAMES, MOST_THREADS, MOST_PROCESSES = 128, 128, 1024
# Where interpreters keep what is not the program's own code: packages, and the standard library.
LIBRARY = re.compile(r"(^|/)(site-packages|dist-packages)/|/lib(32|64)?/python[0-9.]+/|^<")
NOWHERE = "no Python function"


@frozen
class StackFrame(Document):
    """One call: the function, its file, and the line that is executed."""

    function: str | None = None
    file: str | None = None
    line: int | None = None

    @property
    def text(self) -> str:
        """``all_reduce (distributed_c10d.py:2501)``: the same on nodes whose code is in different places."""
        where = f"{posixpath.basename(self.file or '?')}:{'?' if self.line is None else self.line}"
        return clean(f"{self.function or '?'} ({where})")

    @classmethod
    def several(cls, data: object) -> list[StackFrame]:
        return [cls.from_dict(item) for item in _objects(data, MOST_FRAMES)]


@frozen
class ThreadStack(Document):
    """The calls of one thread, the innermost first; name is the one that the program gave it, if known."""

    name: str | None = None
    main: bool = False
    frames: list[StackFrame] = field(default_factory=list)

    @property
    def inner(self) -> StackFrame | None:
        """The innermost call."""
        return self.frames[0] if self.frames else None

    @property
    def caller(self) -> StackFrame | None:
        """The innermost call of the program's own code, which may be the innermost of all."""
        return next((frame for frame in self.frames if not LIBRARY.search(frame.file or "<")), None)

    @classmethod
    def several(cls, data: object) -> list[ThreadStack]:
        return [cls.from_dict(item) for item in _objects(data, MOST_THREADS)]


@frozen
class RankStacks(Document):
    """The threads of one rank, the main one first; rank is None for a process of a program that names no ranks.

    source is what has read them, `answer` (the rank itself), `py-spy` or `faulthandler`, None where nothing could. why
    says why it was not py-spy, or why there are none.
    """

    rank: int | None = None
    pid: int | None = None
    source: str | None = None
    why: str | None = None
    threads: list[ThreadStack] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """All threads as text, the innermost calls first."""
        lines: list[str] = []
        for number, thread in enumerate(self.threads):
            name = "main thread" if thread.main else f"thread {number}"
            lines += ["", f"{name}{f' ({thread.name})' if thread.name else ''}, most recent call first:"]
            for frame in thread.frames:
                lines.append(f'  File "{frame.file or "?"}", line {frame.line}, in {frame.function}')
            lines += [] if thread.frames else [f"  {NOWHERE}"]
        return [clean(line) for line in lines]

    @classmethod
    def several(cls, data: object) -> list[RankStacks]:
        return [cls.from_dict(item) for item in _objects(data, MOST_PROCESSES)]


def _objects(data: object, most: int) -> list[dict[str, Any]]:
    return [item for item in data[:most] if isinstance(item, dict)] if isinstance(data, list) else []
