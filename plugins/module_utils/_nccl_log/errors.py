# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings of NCCL, with the numbers that it gives: completions, calls of verbs and of sockets, events."""

from __future__ import annotations

import errno
import os
import re
from typing import Any

from .._records.nccl_log import NcclError
from .._text.printable import clean

COMPLETION, CALL, EVENT, WARNING = "completion", "call", "event", "warning"
LONGEST_LINE = 240
# Before 2.24 a line has the text of strerror alone.
_ERRNOS = {os.strerror(number): number for number in errno.errorcode}
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
# What happened to a device or a port: `port error`, which fails, or `port active`, which is a warning.
_EVENT = re.compile(
    r"([^\s:]{1,64}:\d{1,4}) (?:Got )?(?:async (fatal |error )?|port )event\b[^:]{0,64}: ?(.{1,80})", re.ASCII
)
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
    event = _EVENT.search(message)
    if event and (event[2] == "fatal " or "error" in event[3]):
        return NcclError(EVENT, event=clean(event[3]).strip(), device=clean(event[1]), time=time, line=shown)
    if call is None:
        return NcclError(WARNING, time=time, line=shown)
    # Of two texts, the longer one has the other in it.
    texts = sorted((text for text in _ERRNOS if text in message), key=len)
    number = int(call[2]) if call[2] else _ERRNOS[texts[-1]] if texts else None
    return NcclError(CALL, call=call[1], errno=number, **values, time=time, line=shown)
