# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the training is: the metrics that the workload writes (`rank_NN_metrics.jsonl`), and its checkpoints."""

from __future__ import annotations

import dataclasses
import glob
import os

from ..._records.known import parse_json
from ..._records.run import Progress
from ..._text.order import natural

TAIL_BYTES = 16 * 1024
CHECKPOINTS = "checkpoints"
# A checkpoint is a file here, a directory of files, or one more below; only so many entries are looked at.
CHECKPOINT_DEPTH, MAX_ENTRIES = 3, 10_000


def parse_last(text: str) -> Progress | None:
    """Return the last whole JSON object of a JSON-lines text (its last line may be half written)."""
    records = (parse_json(line) for line in reversed(text.split("\n")[:-1]))
    return next((Progress.from_dict(record) for record in records if isinstance(record, dict)), None)


def _read(path: str, offset: int, size: int) -> str:
    with open(path, "rb") as stream:
        stream.seek(max(0, offset))
        return stream.read(size).decode("utf-8", "replace")


def read_progress(output_dir: str, since: float = 0.0) -> Progress | None:
    """Return the last record of the lowest rank here, with the first one's loss; None before the first.

    A file that was last written before `since` (unix seconds) is an earlier launch's.
    """
    paths = sorted(glob.glob(os.path.join(glob.escape(output_dir), "rank_*_metrics.jsonl")), key=natural)
    if not paths:
        return None
    try:
        if os.path.getmtime(paths[0]) < since:
            return None
        size = os.path.getsize(paths[0])
        last = parse_last(_read(paths[0], size - TAIL_BYTES, TAIL_BYTES))
        first = parse_last(_read(paths[0], 0, TAIL_BYTES).partition("\n")[0] + "\n")
    except OSError:
        return None
    return None if last is None else dataclasses.replace(last, first_loss=(first or last).loss)


def has_saved(output_dir: str, since: float) -> bool:
    """Return whether anything in the directory `checkpoints` was written since then (unix seconds)."""
    folders, entries_read = [(os.path.join(output_dir, CHECKPOINTS), 1)], 0
    while folders:
        folder, depth = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    entries_read += 1
                    # Not entry.stat: it keeps all threads of this process from running while the storage hangs.
                    if os.stat(entry.path, follow_symlinks=False).st_mtime >= since:
                        return True
                    if entries_read >= MAX_ENTRIES:
                        return False
                    if depth < CHECKPOINT_DEPTH and entry.is_dir(follow_symlinks=False):
                        folders.append((entry.path, depth + 1))
        except OSError:
            continue
    return False
