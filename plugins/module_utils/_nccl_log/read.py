# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the files of a node that have the logs of NCCL or RCCL, each block once and none kept."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence

from .._host.host import Host
from .._records.layout import LOGS
from .._records.nccl_log import NcclLog
from .parse import NcclLogParser

BLOCK = 4 << 20
# Of a file that is too large: its beginning has the connections, its end the errors.
HEAD_PART = 0.75
MISSING, UNREADABLE = "is not there, or cannot be read", "cannot be read"


def read_nccl_log(
    host: Host, paths: Sequence[str], max_bytes: int, ranks: list[int] | None, warn: Callable[[str], None]
) -> NcclLog:
    """Return what the files show, of which together at most max_bytes are read.

    A directory stands for its files and, as that of a run has its logs there, for those of its directory `logs`.
    """
    files = dict(_files(host, paths))
    unread = [(path, problem) for path, problem in files.items() if isinstance(problem, str)]
    sizes = {path: size for path, size in files.items() if isinstance(size, int)}
    parser, left, count = NcclLogParser(), max_bytes, len(sizes)
    # The smallest first, so that what they leave is for the larger ones.
    for path, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        part = min(size, left // count)
        count, left = count - 1, left - part
        head = part if part == size else int(part * HEAD_PART)
        readable = _feed(host, path, 0, head, parser)
        if readable and part < size:
            parser.end_part()
            readable = _feed(host, path, size - (part - head), part - head, parser)
        if not readable:
            unread.append((path, UNREADABLE))
        parser.end_file(readable and part == size)
    for path, problem in unread:
        warn(f"{path} {problem}")
    return dataclasses.replace(parser.record(ranks), unread=len(unread))


def _feed(host: Host, path: str, start: int, count: int, parser: NcclLogParser) -> bool:
    """Feed so many bytes of a file, fewer where it ends; return whether it could be read."""
    while count > 0:
        block = host.read_bytes(path, min(BLOCK, count), start)
        if not block:
            return block is not None
        parser.feed(block)
        start, count = start + len(block), count - len(block)
    return True


def _files(host: Host, paths: Sequence[str]) -> Iterator[tuple[str, int | str]]:
    """Yield the files with their sizes in bytes, and the paths that cannot be read with what is wrong with them.

    Pipes, devices and directories inside a directory are left out.
    """
    for path in paths:
        if not host.is_dir(path):
            size = host.size(path)
            known = size is None or host.is_file(path)
            yield path, (MISSING if size is None else size) if known else "is neither a file nor a directory"
            continue
        for folder in filter(host.is_dir, (path, os.path.join(path, LOGS))):
            names = host.list_dir(folder)
            if names is None:
                yield folder, UNREADABLE
            for name in (os.path.join(folder, name) for name in names or ()):
                size = host.size(name)
                if size is None or host.is_file(name):
                    yield name, MISSING if size is None else size
