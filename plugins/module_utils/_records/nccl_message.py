# SPDX-License-Identifier: GPL-3.0-or-later
"""What an error of NCCL or RCCL says of its reason, in the exception that torch makes of it and in the library's log.

The first lines of such an exception are the same for every reason (ncclGetErrorString; c10d/NCCLUtils.hpp). What failed
is its "Last error:" (ncclGetLastError) or a warning in the log, of which the first that has an errno or a status is the
nearest to the reason: others follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

WARNING = "NCCL WARN "
_ERROR = re.compile(r"\bNCCL (?:error|Error|communicator was aborted)|\bnccl(?:System|Remote|Internal|Unhandled)\w*")
_LAST = re.compile(r"^\s*Last error:\s*", re.MULTILINE)
# What is said for every reason.
_GENERIC = re.compile(
    r"nccl[A-Z]\w+: |unhandled (?:system|cuda) error|internal error|Internal check failed|remote process exited|"
    r"Proxy Call to rank \d+ failed|Cuda failure 'unknown error'|\S+:\d+ -> \d+$|$"
)
_TELLING = re.compile(
    r"errno|failed with (?:error )?\S|status[= ]\d|[Ee]rror: \S|\(\d+\)|'[a-z ]+'|No space left|No route to host"
    r"|refused|denied|Cannot allocate|unreachable|timed out|not found|mismatch"
)


def warning_in(line: str) -> str | None:
    """Return what a line of NCCL's log warns of, without its place in the source."""
    _place, separator, text = line.partition(WARNING)
    return text.strip() or None if separator else None


def specific(message: str, warnings: Sequence[str] = ()) -> str:
    """Return what a message of NCCL says that others do not; any other message, or one without that, as it is."""
    if not _ERROR.search(message):
        return message
    last = _LAST.split(message, maxsplit=1)[1:]
    lines = [line.strip() for text in last for line in text.splitlines()]
    return _best(lines[:4]) or _best(warnings) or message


def _best(lines: Iterable[str]) -> str | None:
    """Return the first line that has an errno or a status, else the first that is not said for every reason."""
    specific_lines = [line for line in lines if not _GENERIC.match(line)]
    return next(
        (line for line in specific_lines if _TELLING.search(line)), specific_lines[0] if specific_lines else None
    )
