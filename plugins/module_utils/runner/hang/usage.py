# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks and their children have used so far, from /proc."""

from __future__ import annotations

import os
import re

from .. import process_tree
from .position import Usage

_IO = re.compile(r"^[rw]char: ([0-9]{1,19})$", re.MULTILINE | re.ASCII)
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def usage_of(pid: int) -> Usage:
    """Return what a process and its living descendants have used; what may not be read counts as nothing."""
    pids = [pid, *(process.pid for process in process_tree.descendants(pid))]
    stats = [_text(number, "stat") for number in pids]
    io_bytes = sum(parse_io(_text(number, "io")) for number in pids) + sum(map(parse_mapped, stats))
    return Usage(sum(map(parse_cpu, stats)), io_bytes)


def _text(pid: int, name: str) -> str:
    return process_tree.read(f"{process_tree.PROC}/{pid}/{name}").decode("utf-8", "replace")


def parse_cpu(text: str) -> float:
    """Return the seconds of CPUs in the text of /proc/<pid>/stat, with those of its children that have ended.

    A compiler is often such a child (proc_pid_stat(5): fields 14 to 17).
    """
    return sum(_numbers(text, 14, 17)) / TICKS


def parse_mapped(text: str) -> int:
    """Return the bytes of mapped files that had to be read, at least, by /proc/<pid>/stat (field 12: major faults)."""
    return sum(_numbers(text, 12, 12)) * PAGE


def _numbers(text: str, first: int, last: int) -> list[int]:
    """Return the fields with these numbers; the second one, a name in parentheses, may have blanks."""
    fields = text.rpartition(")")[2].split()[first - 3 : last - 2]
    return [int(field) for field in fields if re.fullmatch("[0-9]{1,19}", field, re.ASCII)]


def parse_io(text: str) -> int:
    """Return the bytes that were read and written, by /proc/<pid>/io (proc_pid_io(5): rchar and wchar)."""
    return sum(map(int, _IO.findall(text)))
