# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the training is: the metrics that the workload writes (`rank_NN_metrics.jsonl`), and its checkpoints."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence

from ..._records.frozen import frozen
from ..._records.known import parse_json
from ..._records.run import Progress
from ..._text.order import natural
from .. import files

TAIL_BYTES = 16 * 1024
CHECKPOINTS = "checkpoints"
_RANK = re.compile(r"/rank_([0-9]{1,9})_metrics\.jsonl$")
# A checkpoint is a file here, a directory of files, or one more below; only so many entries are looked at.
CHECKPOINT_DEPTH, MAX_ENTRIES = 3, 10_000


def parse_last(text: str) -> Progress | None:
    """Return the last whole JSON object of a JSON-lines text (its last line may be half written)."""
    records = (parse_json(line) for line in reversed(text.split("\n")[:-1]))
    return next((Progress.from_dict(record) for record in records if isinstance(record, dict)), None)


def _read(path: str, offset: int, size: int) -> str:
    with files.open_regular(path) as stream:
        stream.seek(max(0, offset))
        return stream.read(size).decode("utf-8", "replace")


@frozen
class Stamps:
    """What a directory's file system recorded of its files, by path.

    Only whether this differs tells that a file was written since: clocks are set back, and differ from a server's.
    """

    files: dict[str, tuple[int, ...]]

    def differ(self, path: str, status: os.stat_result) -> bool:
        """Return whether a file is not the one that was recorded, or was written since."""
        return self.files.get(path) != stamp_of(status)


NO_STAMPS = Stamps({})


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells whether a file was written since."""
    # Not the time of its last change: a new owner or mode does not mean new content.
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_stamps(
    output_dir: str, checkpoints: Sequence[str] = (), others: Iterable[tuple[str, os.stat_result]] = ()
) -> Stamps:
    """Return the stamps of the metrics, of what is in the directories of checkpoints, and of other files."""
    stamps = {path: stamp_of(status) for path, status in (*_entries(checkpoints), *others)}
    for path in _metrics(output_dir):
        with contextlib.suppress(OSError):
            stamps[path] = stamp_of(os.stat(path))
    return Stamps(stamps)


def read_progress(output_dir: str, earlier: Stamps = NO_STAMPS, ranks: range | None = None) -> Progress | None:
    """Return the last record of the lowest rank here, with the first one's loss; None before the first.

    A file that was not written since `earlier` is an earlier launch's. In a directory that the nodes share, only the
    files of this node's ranks count.
    """
    paths = _metrics(output_dir)
    if ranks is not None:
        paths = [path for path in paths if (rank := _RANK.search(path)) and int(rank[1]) in ranks]
    if not paths:
        return None
    try:
        status = os.stat(paths[0])
        if not earlier.differ(paths[0], status):
            return None
        last = parse_last(_read(paths[0], status.st_size - TAIL_BYTES, TAIL_BYTES))
        first = parse_last(_read(paths[0], 0, TAIL_BYTES).partition("\n")[0] + "\n")
    except OSError:
        return None
    return None if last is None else dataclasses.replace(last, first_loss=(first or last).loss)


def _metrics(output_dir: str) -> list[str]:
    return sorted(glob.glob(os.path.join(glob.escape(output_dir), "rank_*_metrics.jsonl")), key=natural)


def read_ranks(output_dir: str, earlier: Stamps = NO_STAMPS, planned: range | None = None) -> list[int]:
    """Return the ranks whose metrics were written since `earlier`: those that a program says it has started.

    In a directory that the nodes share, only the planned ranks of this node count.
    """
    ranks = set()
    for path in _metrics(output_dir)[:MAX_ENTRIES]:
        match = _RANK.search(path)
        with contextlib.suppress(OSError):
            if match and (planned is None or int(match[1]) in planned) and earlier.differ(path, os.stat(path)):
                ranks.add(int(match[1]))
    return sorted(ranks)


def has_saved(checkpoints: Sequence[str], earlier: Stamps = NO_STAMPS) -> bool:
    """Return whether anything in the directories of checkpoints was written since `earlier`."""
    return any(earlier.differ(path, status) for path, status in _entries(checkpoints))


def _entries(directories: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files among the first entries of some directories, and of those in them."""
    folders, entries_read = [(directory, 1) for directory in directories], 0
    while folders:
        folder, depth = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    entries_read += 1
                    if entries_read > MAX_ENTRIES:
                        return
                    # Not entry.stat: before Python 3.11 it keeps all threads from running while the storage hangs.
                    try:
                        status = os.stat(entry.path, follow_symlinks=False)
                    except OSError:  # removed meanwhile
                        continue
                    if stat.S_ISREG(status.st_mode):
                        yield entry.path, status
                    elif depth < CHECKPOINT_DEPTH and stat.S_ISDIR(status.st_mode):
                        folders.append((entry.path, depth + 1))
        except OSError:
            continue
