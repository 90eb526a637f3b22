# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person reads, as files in tests/screens: `make screens` writes them anew, to be reviewed in the diff."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

SCREENS = Path(__file__).resolve().parents[1] / "screens"
# A case's name, and the lines that a user reads then.
Message = tuple[str, Iterable[str]]


def kept(name: str, text: str) -> str:
    """Return the text of a file in tests/screens, which is written first if screens are written."""
    path = SCREENS / name
    if os.environ.get("MUSTER_WRITE_SCREENS"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def errors(read: Callable[[Any], object], values: Iterable[object]) -> Iterator[str]:
    """What is said of each value that is refused."""
    for value in values:
        try:
            read(value)
        except ValueError as error:
            yield from (f"{value!r:.60}  # {line}" for line in str(error).splitlines())


def refusal(act: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """What is said where something is refused."""
    try:
        act(*arguments, **options)
    except Exception as error:
        return getattr(error, "strerror", None) or str(error)
    raise AssertionError("nothing was refused")


def page_of(messages: Iterable[Message]) -> str:
    """Return the messages of a room as its file has them: each case's name once, and its lines below it."""
    sections = [(name, list(lines)) for name, lines in messages]
    names = [name for name, _lines in sections]
    assert len(set(names)) == len(names), "two cases have one name"
    assert all(lines for _name, lines in sections), "a case has no message"
    return "\n".join(
        "".join([f"{name}\n", *(f"  {line}".rstrip() + "\n" for line in lines)]) for name, lines in sections
    )
