# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the ranks of a node are in their Python code."""

from __future__ import annotations

from typing import Any

from .document import Document
from .frozen import field, frozen

# More than faulthandler writes, and than a launch starts on one node.
MOST_FRAMES, MOST_THREADS, MOST_PROCESSES = 128, 128, 1024


@frozen
class StackFrame(Document):
    """One call: the function, its file, and the line that is executed."""

    function: str | None = None
    file: str | None = None
    line: int | None = None

    @classmethod
    def several(cls, data: object) -> list[StackFrame]:
        return [cls.from_dict(item) for item in _objects(data, MOST_FRAMES)]


@frozen
class ThreadStack(Document):
    """The calls of one thread, the innermost first; name is the one that the program gave it, if known."""

    name: str | None = None
    main: bool = False
    frames: list[StackFrame] = field(default_factory=list)

    @classmethod
    def several(cls, data: object) -> list[ThreadStack]:
        return [cls.from_dict(item) for item in _objects(data, MOST_THREADS)]


@frozen
class RankStacks(Document):
    """The threads of one rank, the main one first; rank is None for a process of a program that names no ranks.

    source is what has read them, `py-spy` or `faulthandler`, None where nothing could. why says why it was not py-spy,
    or why there are none.
    """

    rank: int | None = None
    pid: int | None = None
    source: str | None = None
    why: str | None = None
    threads: list[ThreadStack] = field(default_factory=list)

    @classmethod
    def several(cls, data: object) -> list[RankStacks]:
        return [cls.from_dict(item) for item in _objects(data, MOST_PROCESSES)]


def _objects(data: object, most: int) -> list[dict[str, Any]]:
    return [item for item in data[:most] if isinstance(item, dict)] if isinstance(data, list) else []
