# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files of a node's run go in the experiment."""

from __future__ import annotations

import heapq
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of

RANK = re.compile(r"rank_(\d+)[_.]")
KEPT_PER_NODE = ("job.json", "state.json", "heartbeat.json", "runner.log")


def ranks_of(run: RunRecord) -> range:
    """Return the ranks that a node says it has; none when it does not say it in numbers."""
    if run.first_rank is None or run.nproc is None:
        return range(0)
    return range(run.first_rank, run.first_rank + run.nproc)


def target(path: str, node_rank: int, ranks: range) -> str | None:
    """Return the path below the experiment for a file of a run directory; None for one that does not belong there.

    The path comes from the host: whatever would leave the experiment, or be another rank's, is refused.
    """
    if path.startswith("/") or "\0" in path or ".." in path.split("/") or posixpath.normpath(path) != path:
        return None
    folder, _slash, rest = path.partition("/")
    if path == "plan.json":
        return "plan.json" if 0 in ranks else None
    if path in KEPT_PER_NODE or folder == "errors":
        return f"nodes/{node_rank}/{path}"
    if folder in ("logs", "outputs") and rest.startswith("rank_"):
        rank = RANK.match(rest)
        if rank is None or int(rank.group(1)) not in ranks:
            return None
        # Files named by rank can't meet.
        return f"ranks/{rest}" if folder == "logs" else f"outputs/{rest}"
    if folder == "logs":
        return f"nodes/{node_rank}/{rest}"
    if folder == "outputs" and rest:
        return f"outputs/{rest}" if 0 in ranks else f"outputs/node_{node_rank}/{rest}"
    return None


def node_log_name(node_rank: int, created: object) -> str:
    """Return ``logs/node_0_20261120_143052.txt`` for a run created at 2026-11-20T14:30:52Z."""
    stamp = "" if seconds_of(created) is None else "_" + re.sub("[-:Z]", "", str(created)).replace("T", "_")
    return f"logs/node_{node_rank}{stamp}.txt"


def _lines(label: str, text: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for line in text:
        stamp, _space, rest = line.rstrip("\n").partition(" ")
        yield stamp, label, rest


def merge_logs(logs: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Merge stamped logs (label -> lines, each in order) by time into lines like ``<time> rank0 | text``."""
    streams = [_lines(label, lines) for label, lines in logs.items()]
    for stamp, label, rest in heapq.merge(*streams, key=lambda entry: entry[0]):
        yield f"{stamp} {label} | {rest}\n"
