# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks and their children have used so far, from /proc."""

from __future__ import annotations

import os
import re

from .. import process_tree
from .position import Usage

_IO = re.compile(r"^[rw]char: ([0-9]{1,19})$", re.MULTILINE | re.ASCII)
TICKS = os.sysconf("SC_CLK_TCK")


def usage_of(pid: int) -> Usage:
    """Return what a process and its living descendants have used; what may not be read counts as nothing."""
    pids = [pid, *(process.pid for process in process_tree.descendants(pid))]
    cpu_s = sum(parse_cpu(_text(number, "stat")) for number in pids)
    return Usage(cpu_s, sum(parse_io(_text(number, "io")) for number in pids))


def _text(pid: int, name: str) -> str:
    return process_tree.read(f"{process_tree.PROC}/{pid}/{name}").decode("utf-8", "replace")


def parse_cpu(text: str) -> float:
    """Return the seconds of CPUs in the text of /proc/<pid>/stat (proc_pid_stat(5): fields 14 and 15)."""
    fields = text.rpartition(")")[2].split()[11:13]
    return sum(int(field) for field in fields if re.fullmatch("[0-9]{1,19}", field, re.ASCII)) / TICKS


def parse_io(text: str) -> int:
    """Return the bytes that were read and written, by /proc/<pid>/io (proc_pid_io(5): rchar and wchar)."""
    return sum(map(int, _IO.findall(text)))
