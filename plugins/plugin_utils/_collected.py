# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files of a node's run go in the experiment. (`_collected.py` is private to the collection.)"""

from __future__ import annotations

import heapq
import posixpath
from collections.abc import Iterable, Iterator, Mapping

KEPT_PER_NODE = ("job.json", "state.json", "heartbeat.json", "runner.log")


def target(path: str, node_rank: int) -> str | None:
    """Return the path below the experiment for a file of a run directory; None for one that does not belong there.

    The path comes from the host: whatever would leave the experiment is refused.
    """
    if path.startswith("/") or "\0" in path or ".." in path.split("/") or posixpath.normpath(path) != path:
        return None
    folder, _slash, rest = path.partition("/")
    if path == "plan.json":
        return "plan.json" if node_rank == 0 else None
    if path in KEPT_PER_NODE or folder == "errors":
        return f"nodes/{node_rank}/{path}"
    if folder == "logs" and rest.startswith("rank_"):
        return f"ranks/{rest}"
    if folder == "logs":
        return f"nodes/{node_rank}/{rest}"
    if folder == "outputs" and rest:
        # Files named by rank can't meet; of the others each node has its own.
        return f"outputs/{rest}" if rest.startswith("rank_") or node_rank == 0 else f"outputs/node_{node_rank}/{rest}"
    return None


def node_log_name(node_rank: int, created: str) -> str:
    """Return ``logs/node_0_20261120_143052.txt`` for a run created at 2026-11-20T14:30:52Z."""
    stamp = created.replace("-", "").replace(":", "").replace("T", "_").rstrip("Z")
    return f"logs/node_{node_rank}_{stamp}.txt"


def _lines(label: str, text: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for line in text:
        stamp, _space, rest = line.rstrip("\n").partition(" ")
        yield stamp, label, rest


def merge_logs(logs: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Merge stamped logs (label -> lines, each in order) by time into lines like ``<time> rank0 | text``."""
    streams = [_lines(label, lines) for label, lines in logs.items()]
    for stamp, label, rest in heapq.merge(*streams, key=lambda entry: entry[0]):
        yield f"{stamp} {label} | {rest}\n"
