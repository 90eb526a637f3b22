# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings of NCCL, with the numbers that it gives: completions, calls of verbs and of sockets."""

from __future__ import annotations

import re
from typing import Any

from .._records.nccl_log import NcclError
from .._text.printable import clean

COMPLETION, CALL, WARNING = "completion", "call", "warning"
LONGEST_LINE = 240
# Before 2.24 a line has the text of strerror alone.
_ERRNOS = {
    "Cannot allocate memory": 12,
    "Invalid argument": 22,
    "No data available": 61,
    "Network is unreachable": 101,
    "Connection reset by peer": 104,
    "Connection timed out": 110,
    "Connection refused": 111,
    "No route to host": 113,
}
_CALL = re.compile(r"Call to (\w{1,40})\b.*?\b(?:failed|returned)\b(?: with)?(?: error)?(?: (\d{1,9})\b)?", re.ASCII)
_FIELDS = {
    "status": re.compile(r"with (?:error |status=)(?:\w+\()?(\d{1,9})", re.ASCII),
    "vendor_err": re.compile(r"vendor[ _]err[ =](\d{1,9})", re.ASCII),
    "peer": re.compile(r"from peer ([^\s<]{1,64})<"),
    "device": re.compile(r"(?:\bon dev|\bhca) ([^\s,]{1,64})"),
    "gid_index": re.compile(r"local GID index (\d{1,9})", re.ASCII),
    "state": re.compile(r"curr state (\w{1,16})", re.ASCII),
    "next_state": re.compile(r"next state (\w{1,16})", re.ASCII),
}
_INTEGERS = {"status", "vendor_err", "gid_index"}


def is_cut(message: str) -> bool:
    """Return whether a completion's line goes on in the next one, as where it was wrapped."""
    return "Got completion" in message and _FIELDS["vendor_err"].search(message) is None


def parse_warning(message: str, line: str, time: str | None = None) -> NcclError:
    """Return what a WARN message of NCCL says; line is the whole of it, which is shortened."""
    values: dict[str, Any] = {}
    for name, pattern in _FIELDS.items():
        match = pattern.search(message)
        if match:
            values[name] = int(match[1]) if name in _INTEGERS else clean(match[1])
    call = _CALL.search(message)
    shown = clean(line).strip()[:LONGEST_LINE]
    if "Got completion" in message:
        return NcclError(COMPLETION, **values, time=time, line=shown)
    if call is None:
        return NcclError(WARNING, time=time, line=shown)
    number = int(call[2]) if call[2] else next((code for text, code in _ERRNOS.items() if text in message), None)
    return NcclError(CALL, call=call[1], errno=number, **values, time=time, line=shown)
