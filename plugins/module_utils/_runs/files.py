# SPDX-License-Identifier: GPL-3.0-or-later
"""The logs and the files of a run, as `run_info` hands them out."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import math
import os
import re
from collections.abc import Sequence
from typing import Any

from .._host.host import Host
from .._records.frozen import frozen
from .._records.layout import HANGS, TELEMETRY
from .._records.remaining import RemainingFile, RemainingFiles
from .._text.printable import is_text

# The newest part of a log that is read for its last lines.
TAIL_BYTES = 1 << 20
# What is read of a file at once: base64 of it goes through the controller's memory, for several nodes at a time.
PART_BYTES = 8 << 20
_LOG = re.compile(r"^(node|rank_(\d+))(\.first|\.previous)?\.log$")
_PARTS = {".first": 0, ".previous": 1, None: 2}
# Python on the controller makes directories by recursion.
DEEPEST = 100
# Of what is excluded so many files are counted, and of what is too large so many are named.
MOST_COUNTED, MOST_NAMED = 10_000, 8


def parse_line(line: str) -> tuple[str, str]:
    """Split a stamped line into (time, text); a line without a stamp has an empty time."""
    stamp, _space, text = line.partition(" ")
    return (stamp, text) if stamp.endswith("Z") and stamp[:1].isdigit() else ("", line)


def read_logs(host: Host, run_dir: str, node: str, lines: int, rank: int | None) -> list[dict[str, Any]]:
    """Return the last `lines` lines here (or of one rank), oldest first: time, node, rank (null: launcher), text."""
    entries: list[dict[str, Any]] = []
    logs = os.path.join(run_dir, "logs")
    matches = [match for match in map(_LOG.match, host.list_dir(logs) or []) if match]
    for match in sorted(matches, key=lambda match: (match.group(1), _PARTS[match.group(3)])):
        which = int(match.group(2)) if match.group(2) else None
        if rank is not None and which != rank:
            continue
        text = host.read_tail(os.path.join(logs, match.group(0)), TAIL_BYTES) or ""
        # Only a newline ends a line: what a program writes may have what else Python takes for an end.
        for line in text.removesuffix("\n").split("\n")[-lines:] if text else ():
            time, rest = parse_line(line)
            entries.append({"time": time, "node": node, "rank": which, "text": rest})
    entries.sort(key=lambda entry: entry["time"])
    return entries[-lines:]


@frozen
class RunPaths:
    """Where a run's files are: in its directory, and its outputs, if the nodes share them, in theirs."""

    run_dir: str
    shared_outputs: str | None = None

    @classmethod
    def of(cls, run_dir: str, shared_output_dir: str | None, run_id: str) -> RunPaths:
        """Return the paths of a run; shared_output_dir has a directory for each run."""
        return cls(run_dir, os.path.join(shared_output_dir, run_id) if shared_output_dir else None)

    def split(self, path: str) -> tuple[str, str]:
        """Return the directory of a path of the run, and the path below it."""
        folder, _slash, rest = path.partition("/")
        shared = self.shared_outputs if folder == "outputs" else None
        return (self.run_dir, path) if shared is None else (shared, rest)

    def full(self, path: str) -> str:
        """Return a path of the run as a path of this node."""
        return os.path.join(*self.split(path)).rstrip("/")


def list_files(
    host: Host, run: RunPaths, limit: int = 0, exclude: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], RemainingFiles]:
    """Return the files that `collect` copies to the controller, and what else of the outputs stays.

    For each file the path below the run directory, size in bytes, modified (seconds since the epoch), sha256 of that
    many bytes, and stays: null, or why it cannot be copied, in which case there is no sha256. Of the outputs, the
    smallest files that are together not above the limit (0: none), without what has an excluded name.
    """
    excluded: list[str] = []
    paths = ["job.json", "plan.json", "state.json", "heartbeat.json", "runner.log", TELEMETRY]
    for folder in ("logs", "errors", HANGS):
        paths += _walk(host, run, folder, (), excluded)
    outputs = _walk(host, run, "outputs", exclude, excluded)
    large = _beyond(limit, [(host.size(run.full(path)) or 0, path) for path in outputs if is_text(path)])
    files = []
    for path in (*paths, *outputs):
        full = run.full(path)
        size = None if path in large or host.is_link(full) else host.size(full)  # a link may lead out of the run
        if size is None:
            continue
        stays = None if is_text(path) else "its name is not UTF-8, or has control characters: rename it there"
        if path.count("/") > DEEPEST:
            stays = f"it lies more than {DEEPEST} directories deep: pack the tree there, for example with tar"
        digest = None if stays else _sha256(host, run, path, size)
        if stays or digest is not None:
            shown = path if is_text(path) else os.fsencode(path).decode("latin-1").encode("unicode_escape").decode()
            modified = host.modified(full)
            files.append({"path": shown, "size": size, "modified": modified, "sha256": digest, "stays": stays})
    return files, _remaining(host, run, excluded, large)


def _sha256(host: Host, run: RunPaths, path: str, size: int) -> str | None:
    directory, below = run.split(path)
    return host.sha256(below, size, below=directory)


def _beyond(limit: int, sized: list[tuple[int, str]]) -> dict[str, int]:
    """Return the files (path -> size) that do not fit if the smallest are taken first; no limit: none."""
    taken, large = 0, {}
    for size, path in sorted(sized):
        taken += size
        if 0 < limit < taken:
            large[path] = size
    return large


def _remaining(host: Host, run: RunPaths, excluded: Sequence[str], large: dict[str, int]) -> RemainingFiles:
    paths: list[str] = []
    for path in excluded:
        inside = host.is_dir(run.full(path))
        paths += _walk(host, run, path, (), [], MOST_COUNTED + 1 - len(paths)) if inside else [path]
    counted = paths[:MOST_COUNTED]
    largest = sorted(large, key=lambda path: (-large[path], path))[:MOST_NAMED]
    return RemainingFiles(
        excluded=len(counted),
        excluded_bytes=sum(host.size(run.full(path)) or 0 for path in counted),
        uncounted=len(paths) > MOST_COUNTED,
        large=len(large),
        large_bytes=sum(large.values()),
        largest=[RemainingFile(path, large[path]) for path in largest],
    )


def read_part(host: Host, run: RunPaths, path: str, offset: int) -> dict[str, Any] | None:
    """Return a part of a file below a run's directory: content (base64), its sha256, and whether it is the last one.

    None if it can't be read; what a link leads to is not read.
    """
    directory, below = run.split(path)
    data = host.read_bytes(below, PART_BYTES, offset, below=directory)
    if data is None:
        return None
    digest = hashlib.sha256(data).hexdigest()
    return {"content": base64.b64encode(data).decode(), "sha256": digest, "last": len(data) < PART_BYTES}


def _walk(
    host: Host, run: RunPaths, below: str, exclude: Sequence[str], excluded: list[str], most: float = math.inf
) -> list[str]:
    """Return the files below a directory of the run, at most so many; what has an excluded name goes to `excluded`."""
    paths: list[str] = []
    pending = [below]
    while pending and len(paths) < most:
        path = pending.pop()
        if host.is_link(run.full(path)):
            continue  # a link may lead out of the run
        name = os.path.basename(path)
        if path != below and any(fnmatch.fnmatchcase(name, pattern) for pattern in exclude):
            excluded.append(path)
        elif path == below or host.is_dir(run.full(path)):
            names = sorted(host.list_dir(run.full(path)) or [], reverse=True)
            pending += [os.path.join(path, name) for name in names]
        else:
            paths.append(path)
    return paths
