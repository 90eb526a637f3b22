# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The logs and the files of a run, as `run_info` hands them out."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from typing import Any

from .._host.host import Host
from .._text.printable import is_text

# The newest part of a log that is read for its last lines.
TAIL_BYTES = 1 << 20
# What is read of a file at once: base64 of it goes through the controller's memory, for several nodes at a time.
PART_BYTES = 8 << 20
_LOG = re.compile(r"^(node|rank_(\d+))(\.first|\.previous)?\.log$")
_PARTS = {".first": 0, ".previous": 1, None: 2}
_NOT_COLLECTED = ("checkpoints",)


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
        for line in text.splitlines()[-lines:]:
            time, rest = parse_line(line)
            entries.append({"time": time, "node": node, "rank": which, "text": rest})
    entries.sort(key=lambda entry: entry["time"])
    return entries[-lines:]


def list_files(host: Host, run_dir: str, limit: int) -> list[dict[str, Any]]:
    """Return the files that `collect` copies to the controller.

    For each file the path below the run directory, size in bytes, modified (seconds since the epoch), sha256 of that
    many bytes, and stays: null, or why it is not to be copied, in which case there is no sha256.
    """
    paths = ["job.json", "plan.json", "state.json", "heartbeat.json", "runner.log"]
    for folder in ("logs", "errors", "outputs"):
        paths += [os.path.join(folder, path) for path in _walk(host, os.path.join(run_dir, folder), "")]
    files = []
    for path in paths:
        full = os.path.join(run_dir, path)
        if host.is_link(full):
            continue  # it may lead out of the run
        size = host.size(full)
        if size is None:
            continue
        stays = _why_it_stays(path, size, limit)
        digest = None if stays else host.sha256(path, size, below=run_dir)
        if stays or digest is not None:
            shown = path if is_text(path) else os.fsencode(path).decode("latin-1").encode("unicode_escape").decode()
            modified = host.modified(full)
            files.append({"path": shown, "size": size, "modified": modified, "sha256": digest, "stays": stays})
    return files


def _why_it_stays(path: str, size: int, limit: int) -> str | None:
    if 0 < limit < size:
        return f"{size >> 20} MiB is above limit_mib"
    if not is_text(path):
        return "its name is not UTF-8, or has control characters: rename it there"
    return None


def read_part(host: Host, run_dir: str, path: str, offset: int) -> dict[str, Any] | None:
    """Return a part of a file below a run's directory: content (base64), its sha256, and whether it is the last one.

    None if it can't be read; what a link leads to is not read.
    """
    data = host.read_bytes(path, PART_BYTES, offset, below=run_dir)
    if data is None:
        return None
    digest = hashlib.sha256(data).hexdigest()
    return {"content": base64.b64encode(data).decode(), "sha256": digest, "last": len(data) < PART_BYTES}


def _walk(host: Host, base: str, below: str) -> list[str]:
    paths = []
    for name in sorted(host.list_dir(os.path.join(base, below)) or []):
        path = os.path.join(below, name)
        if host.is_link(os.path.join(base, path)):
            continue  # a link may lead out of the run
        if host.is_dir(os.path.join(base, path)):
            if name not in _NOT_COLLECTED:
                paths += _walk(host, base, path)
        else:
            paths.append(path)
    return paths
