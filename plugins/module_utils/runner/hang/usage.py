# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks and the processes that they have started have used so far, from /proc and the kernel's sockets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from .. import process_tree
from ..process import Process
from .position import Usage
from .sockets import bytes_by_inode

_IO = re.compile(r"^[rw]char: ([0-9]{1,19})$", re.MULTILINE | re.ASCII)
_SOCKET = re.compile(r"socket:\[([0-9]{1,19})\]", re.ASCII)
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def usages_of(ranks: Mapping[int, Process], processes: Iterable[Process]) -> dict[int, Usage]:
    """Return what each rank has used with those of the processes of its run that are its own.

    What may not be read counts as nothing.
    """
    usages = {rank: Usage() for rank in ranks}
    sockets = bytes_by_inode()
    for rank, process in _by_rank(ranks, {process.pid: process for process in processes}):
        name, stat = f"pid {process.pid}", _text(process.pid, "stat")
        usages[rank].cpu_s[name] = parse_cpu(stat)
        usages[rank].io_bytes[name] = parse_io(_text(process.pid, "io")) + parse_mapped(stat)
        inodes = {int(inode) for inode in _SOCKET.findall(" ".join(process_tree.open_files(process)))}
        usages[rank].io_bytes.update({f"socket {inode}": sockets[inode] for inode in inodes & sockets.keys()})
    return usages


def _by_rank(ranks: Mapping[int, Process], processes: Mapping[int, Process]) -> Iterator[tuple[int, Process]]:
    """Yield each process that is of a rank: below it, or with its number, as one that has left its parent."""
    rank_of = {process.pid: rank for rank, process in ranks.items()}
    for process in processes.values():
        above: Process | None = process
        while above is not None and above.pid not in rank_of:
            above = processes.get(above.ppid)
        number = None if above else process_tree.environment(process.pid).get("RANK", "")
        rank = rank_of[above.pid] if above else int(number) if number and number.isascii() and number.isdigit() else -1
        if rank in ranks:
            yield rank, process


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
