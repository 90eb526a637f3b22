# SPDX-License-Identifier: GPL-3.0-or-later
"""The patterns of files that rsync did not copy (rsync(1), PATTERN MATCHING RULES)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Callable

Excluded = Callable[[str, bool], bool]
NOTHING = r"(?!)"
RANGE = re.escape("-")
_WILD = re.compile(r"\*{2,}|\*|\?|\[[!^]?[^/][^\]/]*\]")
# An escape, a class of characters, an include, the end of all patterns before, and what has no use.
_ONLY_RSYNC = re.compile(r"\\|\[:|^\+ |^!$|\*{4}|^//")


def excluded_by(patterns: Iterable[str]) -> Excluded:
    """Return a function that takes a path below the copied directory, and whether it is a directory, and judges it.

    It returns whether rsync leaves the path itself out. unknown_patterns has those that are ignored.
    """
    compiled = [part for pattern in patterns if (part := _compile(pattern)) is not None]
    directories = re.compile("|".join(expression for expression, _only in compiled) or NOTHING, re.DOTALL)
    files = re.compile("|".join(expression for expression, only in compiled if not only) or NOTHING, re.DOTALL)
    return lambda path, is_dir: bool((directories if is_dir else files).fullmatch(path))


def unknown_patterns(patterns: Iterable[str]) -> list[str]:
    """Return the patterns that excluded_by ignores, because only rsync knows what they match."""
    return [pattern for pattern in patterns if _compile(pattern) is None]


def _compile(pattern: str) -> tuple[str, bool] | None:
    """Return an expression for a whole path, and whether it is for directories only; None for what is ignored."""
    text = pattern[2:] if pattern.startswith("- ") else pattern
    text = text[:-3] if text.endswith("/***") else text
    text = text[3:] if text.startswith("**/") else text
    # Without a leading slash, rsync compares the end of the path.
    expression = "" if text.startswith("/") else "(?:.*/)?"
    place, inner = 0, text.strip("/")
    if not inner or _ONLY_RSYNC.search(pattern) or "[" in _WILD.sub("", inner):
        return None
    for match in _WILD.finditer(inner):
        expression += re.escape(inner[place : match.start()]) + _wild(match[0])
        place = match.end()
    expression = f"(?:{expression}{re.escape(inner[place:])})"
    try:
        re.compile(expression)
    except re.error:
        return None
    return expression, text.endswith("/")


def _wild(word: str) -> str:
    if word.startswith("["):
        negated = word[1] in "!^"
        inside = re.escape(word[1 + negated : -1]).replace(RANGE, "-").replace("--", 2 * RANGE)
        return f"[{'^/' if negated else ''}{inside}]"
    return {"*": "[^/]*", "?": "[^/]"}.get(word, ".*")
