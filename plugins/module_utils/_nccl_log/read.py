# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the files of a node that have the logs of NCCL or RCCL, each block once and none kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from .._host.host import Host
from .._records.nccl_log import NcclLog
from .parse import NcclLogParser

BLOCK = 4 << 20
# In the directory of a run: where the logs of its ranks are.
LOGS = "logs"
# Of a file that is too large: its beginning has the connections, its end the errors.
HEAD_PART = 0.75


def read_nccl_log(
    host: Host, paths: Sequence[str], max_bytes: int, ranks: list[int] | None, warn: Callable[[str], None]
) -> NcclLog:
    """Return what the files show, of which together at most max_bytes are read.

    A directory stands for its files and, as that of a run has its logs there, for those of its directory `logs`.
    """
    sizes = dict(_files(host, paths, warn))
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
            warn(f"{path} could not be read")
        parser.end_file(readable and part == size)
    return parser.record(ranks)


def _feed(host: Host, path: str, start: int, count: int, parser: NcclLogParser) -> bool:
    """Feed so many bytes of a file, fewer where it ends; return whether it could be read."""
    while count > 0:
        block = host.read_bytes(path, min(BLOCK, count), start)
        if not block:
            return block is not None
        parser.feed(block)
        start, count = start + len(block), count - len(block)
    return True


def _files(host: Host, paths: Sequence[str], warn: Callable[[str], None]) -> Iterator[tuple[str, int]]:
    """Yield the files and their sizes in bytes; pipes and devices are left out."""
    for path in paths:
        folders = [path, os.path.join(path, LOGS)] if host.is_dir(path) else []
        names = [os.path.join(folder, name) for folder in folders for name in host.list_dir(folder) or ()]
        if not folders:
            names = [path]
        for name in names:
            size = host.size(name)
            if size is not None and host.is_file(name):
                yield name, size
            elif not folders:
                warn(f"{path} is neither a file nor a directory")
