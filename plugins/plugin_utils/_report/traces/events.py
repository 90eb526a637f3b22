# SPDX-License-Identifier: GPL-3.0-or-later
"""The events of a trace, one after the other: a trace may be larger than the memory, and may end anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

# In characters: what is read at once, the longest event, and what may come before the events, such as the ranks of all
# process groups.
PART, LONGEST_EVENT, LONGEST_HEAD = 1 << 18, 1 << 20, 1 << 26
BEGIN = re.compile(r'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


class DamagedTrace(Exception):
    """What could be read has been; what follows is missing or is not JSON."""


class TraceStream:
    """The events of a text that is read by parts; head is what comes before them."""

    def __init__(self, read: Callable[[int], str]) -> None:
        """Find where the events begin; raise DamagedTrace where none do."""
        self._read = read
        self._text = ""
        match = None
        while match is None:
            part = read(PART)
            if not part or len(self._text) > LONGEST_HEAD:
                raise DamagedTrace
            self._text += part
            match = BEGIN.search(self._text, max(0, len(self._text) - len(part) - 64))
        self.head = self._text[: match.start()]
        self._place = match.end()

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events; raise DamagedTrace where they do not end as a list does."""
        while True:
            between = _BETWEEN.match(self._text, self._place)
            self._place = between.end() if between else self._place
            if self._text[self._place : self._place + 1] == "]":
                return
            try:
                event, self._place = _DECODER.raw_decode(self._text, self._place)
            except (ValueError, RecursionError):
                self._read_on()
                continue
            if isinstance(event, dict):
                yield event

    def _read_on(self) -> None:
        """Read the next part; raise DamagedTrace where there is none, or the event before it cannot be one."""
        rest = self._text[self._place :]
        part = self._read(PART) if len(rest) <= LONGEST_EVENT else ""
        if not part:
            raise DamagedTrace
        self._text, self._place = rest + part, 0
