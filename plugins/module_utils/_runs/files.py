# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The logs and the files of a run, as `run_info` hands them out."""

from __future__ import annotations

import os
import re
from typing import Any

from .._host.host import Host

# The newest part of a log that is read for its last lines.
TAIL_BYTES = 1 << 20
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

    For each file the path below the run directory, size in bytes, modified (seconds since the epoch) and sha256 (null
    above the limit, if any).
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
        too_large = size is not None and 0 < limit < size
        digest = None if too_large else host.sha256(full)
        if too_large or digest is not None:
            files.append({"path": path, "size": size, "modified": host.modified(full), "sha256": digest})
    return files


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
