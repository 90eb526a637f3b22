# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress from files that a trainer writes by itself: Lightning's metrics.csv and TensorBoard's event files."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
import time
from collections.abc import Iterator, Sequence

from ...._records.run import Progress
from ... import files
from ...optional import optional
from ..progress import Stamps
from .lightning import parse_csv
from .tensorboard import NAME, Scalar, parse_events, progress_of

CSV = "metrics.csv"
# What TensorBoardLogger of Lightning's Trainer, which numbers steps from 0, leaves beside its event files.
LIGHTNING_PARAMETERS = "hparams.yaml"
# Where trainers write below the current directory, which may be a large tree of code.
FOLDERS = ("lightning_logs", "runs", "logs", "tb_logs", "outputs")
SKIPPED = ("checkpoints", "wandb", "mlruns", "node_modules")
DEPTH, MAX_ENTRIES = 5, 2000
# How often the folders are searched for new files.
SEARCH_S = 10.0
# Of a file, per look.
CSV_BYTES, EVENT_BYTES, MOST_TAGS = 64 * 1024, 1 << 20, 10_000


def places(output_dir: str, cwd: str) -> list[str]:
    """Return the directories in which a trainer's files are looked for."""
    return [output_dir, *(os.path.join(cwd, folder) for folder in FOLDERS if cwd != output_dir)]


def find(directories: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of metrics in some directories and below, among the first entries."""
    folders, entries_read = [(directory, 1) for directory in directories], 0
    while folders:
        folder, depth = folders.pop()
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in sorted(names):
            entries_read += 1
            if entries_read > MAX_ENTRIES:
                return
            path = os.path.join(folder, name)
            is_file = name == CSV or NAME.fullmatch(name) is not None
            if not is_file and ("." in name or depth >= DEPTH or name in SKIPPED or name.startswith("checkpoint-")):
                continue
            try:
                status = os.stat(path, follow_symlinks=False)
            except OSError:
                continue
            if is_file and stat.S_ISREG(status.st_mode):
                yield path, status
            elif stat.S_ISDIR(status.st_mode):
                folders.append((path, depth + 1))


class _Events:
    """An event file that is read as it grows."""

    def __init__(self) -> None:
        self._place = 0
        self._last: dict[str, Scalar] = {}
        self._first: dict[str, Scalar] = {}

    def read(self, path: str) -> Progress | None:
        """Return the progress after what was added."""
        with files.open_regular(path) as stream:
            stream.seek(self._place)
            scalars, length = parse_events(stream.read(EVENT_BYTES))
        self._place += length
        for scalar in scalars:
            if len(self._last) >= MOST_TAGS and scalar.tag not in self._last:
                continue
            self._first.setdefault(scalar.tag, scalar)
            self._last[scalar.tag] = scalar
        progress = progress_of([*self._first.values(), *self._last.values()])
        if progress is None or progress.step is None:
            return progress
        is_lightning = os.path.exists(os.path.join(os.path.dirname(path), LIGHTNING_PARAMETERS))
        return dataclasses.replace(progress, step=progress.step + is_lightning)


def _read_csv(path: str) -> Progress | None:
    with files.open_regular(path) as stream:
        start = stream.read(CSV_BYTES)
        size = os.fstat(stream.fileno()).st_size
        stream.seek(max(len(start), size - CSV_BYTES))
        end = stream.read(CSV_BYTES)
    header, _newline, rows = start.decode("utf-8", "replace").partition("\n")
    first = next(filter(None, (parse_csv(header, f"{row}\n") for row in rows.split("\n")[:-1])), None)
    last = parse_csv(header, end.decode("utf-8", "replace").partition("\n")[2]) or parse_csv(header, rows)
    return None if last is None else dataclasses.replace(last, first_loss=(first or last).loss)


class Written:
    """The files that were written since `earlier`; the newest of those that have a loss counts."""

    def __init__(self, directories: Sequence[str], earlier: Stamps) -> None:
        self._directories = directories
        self._earlier = earlier
        self._files: list[str] = []
        self._events: dict[str, _Events] = {}
        self._next_search = 0.0

    def look(self, is_last: bool = False) -> Progress | None:
        """Return the progress, None without a file. Waits for the storage."""
        if is_last or time.monotonic() >= self._next_search:
            changed = [item for item in find(self._directories) if self._earlier.differ(*item)]
            self._files = [path for path, _status in sorted(changed, key=lambda item: -item[1].st_mtime_ns)][:8]
            self._next_search = time.monotonic() + SEARCH_S
        for path in self._files:
            progress = self._read(path)
            if progress is not None:
                return progress
        return None

    def _read(self, path: str) -> Progress | None:
        with optional(f"reading {path!a}"), contextlib.suppress(OSError):
            is_csv = os.path.basename(path) == CSV
            return _read_csv(path) if is_csv else self._events.setdefault(path, _Events()).read(path)
        return None
