# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of GPUs and adapters in the kernel's log of this boot.

The journal has the whole boot; the kernel's ring buffer (dmesg) loses its beginning. A boot always has lines, so no
lines means that this user may not read the log. Times are seconds since the boot.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence

from .._host.budget import Budget
from .._host.host import Host
from .._records.frozen import frozen
from .._records.health import KernelError, KernelLog
from .._records.known import as_dict, parse_json
from .kernel_messages import WORDS, parse_error, parse_reset

JOURNAL = (
    *("journalctl", "--dmesg", "--boot", "--output=json", "--no-pager", "--quiet"),
    "--output-fields=MESSAGE,_SOURCE_MONOTONIC_TIMESTAMP",
)
RING = ("dmesg",)
CAP_S = 5.0
HINT = "root may read it, and on most systems the groups adm and systemd-journal"
# A lost GPU can cause thousands of lines: those of one kind, code and device are counted.
ERROR_LIMIT = 200
# Kinds of its driver, which is loaded again without a device.
OF_NVIDIA = ("xid", "remap", "bus", "init", "gsp", "nvlink")
# A message that is not UTF-8 is a list of bytes.
_BYTES = re.compile(r'"MESSAGE" ?: ?\[')
_DMESG = re.compile(r"(?:<[0-9]{1,3}>)?\[ {0,12}([0-9]{1,9}\.[0-9]{1,6})\] ?(.*)", re.ASCII)


def read_kernel_log(host: Host, as_root: Sequence[str] = ()) -> KernelLog | None:
    """Return the errors in the log, None below another root; as_root is a prefix for the commands."""
    if not host.is_live:
        return None
    budget = Budget(host)
    reasons = []
    for command, parse in ((JOURNAL, parse_journal), (RING, parse_dmesg)):
        result = budget.run([*as_root, *command], CAP_S)
        lines = parse(result.out) if result.rc == 0 else []
        if lines:
            complete = command is JOURNAL or lines[0].monotonic_s == 0.0
            return KernelLog(True, None, errors_of(lines), command[0], complete)
        reasons.append(f"{command[0]}: {result.why(CAP_S).removeprefix(f'{command[0]}: ')}")
    return KernelLog(False, "; ".join([*reasons, HINT]))


@frozen
class Line:
    """One message, and the seconds since the boot if known."""

    monotonic_s: float | None
    text: str


def parse_journal(text: str) -> list[Line]:
    """Return the messages of journalctl -o json: an object a line (systemd: Journal JSON Format).

    Only messages with one of the searched words are read; the others are returned as empty texts.
    """
    lines = []
    for line in text.splitlines():
        if line.startswith("{"):
            relevant = any(word in line for word in WORDS) or _BYTES.search(line)
            lines.append(_entry(line) if relevant else Line(None, ""))
    return lines


def _entry(line: str) -> Line:
    entry = as_dict(parse_json(line))
    message = entry.get("MESSAGE")
    moment = entry.get("_SOURCE_MONOTONIC_TIMESTAMP") or entry.get("__MONOTONIC_TIMESTAMP")
    if isinstance(message, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in message):
        message = bytes(message).decode("utf-8", "replace")
    micros = moment if isinstance(moment, str) and re.fullmatch("[0-9]{1,18}", moment, re.ASCII) else None
    return Line(int(micros) / 1e6 if micros else None, message if isinstance(message, str) else "")


def parse_dmesg(text: str) -> list[Line]:
    """Return the messages of dmesg with its seconds since the boot."""
    matches = filter(None, map(_DMESG.fullmatch, text.splitlines()))
    return [Line(float(match.group(1)), match.group(2)) for match in matches]


def errors_of(lines: Iterable[Line]) -> list[KernelError]:
    """Return the errors by kind, code and device, with the text of the first and the time of the last.

    reset_s is when the device was reset after the last one.
    """
    errors: dict[tuple[str, int | None, str | None], KernelError] = {}
    for line in lines:
        text = line.text[:2000]
        error = parse_error(text, line.monotonic_s)
        if error is None:
            is_reset, device = parse_reset(text)
            if is_reset:
                errors = {key: _after_reset(error, device, line.monotonic_s) for key, error in errors.items()}
            continue
        key = (error.kind, error.code, error.device)
        before = errors.get(key)
        if before is not None:
            errors[key] = dataclasses.replace(
                before, count=before.count + 1, monotonic_s=error.monotonic_s, reset_s=None
            )
        elif len(errors) < ERROR_LIMIT:
            errors[key] = error
    return list(errors.values())


def _after_reset(error: KernelError, device: str | None, moment: float | None) -> KernelError:
    """Return an error that was logged before this reset: of its device, or of all that NVIDIA's driver has."""
    concerned = error.device == device if device else error.kind in OF_NVIDIA
    return dataclasses.replace(error, reset_s=moment) if concerned else error
