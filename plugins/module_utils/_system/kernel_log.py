# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of GPUs and adapters in the kernel's log of this boot.

The journal has the whole boot; the kernel's ring buffer (dmesg) loses its beginning. A boot always has lines, so no
lines means that this user may not read the log. Times are seconds since the boot. The messages are those of NVIDIA's
driver (README, "Xid messages"), amdgpu (amdgpu_ras.c), and the kernel's PCI code and mlx5 (pcie_print_link_status,
mlx5/core/events.c).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence

from .._host import pci
from .._host.budget import Budget
from .._host.host import Host
from .._records.frozen import frozen
from .._records.health import KernelError, KernelLog
from .._records.known import as_dict, parse_json

JOURNAL = (
    *("journalctl", "--dmesg", "--boot", "--output=json", "--no-pager", "--quiet"),
    "--output-fields=MESSAGE,_SOURCE_MONOTONIC_TIMESTAMP",
)
RING = ("dmesg",)
CAP_S = 5.0
HINT = "root may read it, and on most systems the groups adm and systemd-journal"
# A lost GPU can cause thousands of lines: those of one kind, code and device are counted.
ERROR_LIMIT = 200
TEXT_LIMIT = 300
_PCI = r"(?:PCI:)?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)"
_XID = re.compile(rf"\bNVRM: Xid \({_PCI}\): ([0-9]{{1,5}})\b")
_SXID = re.compile(rf"\bSXid \({_PCI}\): ([0-9]{{1,6}})\b")
_RAS = re.compile(
    r"\bamdgpu ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): .{0,100}?"
    r"\b([0-9]{1,18}) (?:new )?uncorrectable hardware errors? detected"
)
_MLX5 = re.compile(
    r"\bmlx5_core ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]).{0,100}?"
    r"(?:available PCIe bandwidth.{0,100}, limited by|insufficient power|event\[error\])"
)
# A message that is not UTF-8 is a list of bytes.
_BYTES = re.compile(r'"MESSAGE" ?: ?\[')
_WORDS = ("Xid", "uncorrectable", "mlx5_core")
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
            relevant = any(word in line for word in _WORDS) or _BYTES.search(line)
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
    """Return the errors by kind, code and device, with the text of the first and the time of the last."""
    errors: dict[tuple[str, int | None, str | None], KernelError] = {}
    for line in lines:
        error = error_of(line)
        if error is None:
            continue
        key = (error.kind, error.code, error.device)
        before = errors.get(key)
        if before is not None:
            errors[key] = dataclasses.replace(before, count=before.count + 1, monotonic_s=error.monotonic_s)
        elif len(errors) < ERROR_LIMIT:
            errors[key] = error
    return list(errors.values())


def error_of(line: Line) -> KernelError | None:
    """Return the error that a line reports, None for other lines."""
    text = line.text[:2000]
    if not any(word in text for word in _WORDS):
        return None
    shown = text.strip()[:TEXT_LIMIT]
    for kind, pattern in (("xid", _XID), ("sxid", _SXID)):
        match = pattern.search(text)
        if match:
            return KernelError(kind, int(match.group(2)), _device(match.group(1)), shown, line.monotonic_s)
    match = _RAS.search(text)
    if match and int(match.group(2)):
        return KernelError("ras", None, _device(match.group(1)), shown, line.monotonic_s)
    match = _MLX5.search(text)
    return KernelError("mlx5", None, _device(match.group(1)), shown, line.monotonic_s) if match else None


def _device(address: str) -> str | None:
    """Return the address with its function, 0 where the driver omits it."""
    return pci.normalize(address if "." in address else f"{address}.0")
