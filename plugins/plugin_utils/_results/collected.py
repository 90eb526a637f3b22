# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files of a node's run are kept in the experiment."""

from __future__ import annotations

import heapq
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from ansible_collections.muster.train.plugins.module_utils._records.layout import HANGS, TELEMETRY
from ansible_collections.muster.train.plugins.module_utils._text.printable import is_text
from ansible_collections.muster.train.plugins.module_utils._text.stamps import seconds_of

RANK = re.compile(r"rank_(\d+)[_.]")
LOG = re.compile(r"logs/(node|rank_(\d+))(?:\.first|\.previous)?\.log")
KEPT_PER_NODE = ("job.json", "state.json", "heartbeat.json", "runner.log", TELEMETRY)


def target(
    path: str, node_rank: int, ranks: range, of_outputs: range | None = None, starts_ranks: bool = False
) -> str | None:
    """Return the path below the experiment for a file of a run directory; None for one that is not kept.

    The path comes from the host: one that leaves the experiment, or belongs to another rank, is refused. The plan is
    the controller's. of_outputs: the ranks whose outputs are there, all of the run if the nodes share them. Where a
    program starts the ranks itself, a file of another rank stays in the folder of its node.
    """
    if not is_text(path) or path.startswith("/") or ".." in path.split("/") or posixpath.normpath(path) != path:
        return None
    folder, _slash, rest = path.partition("/")
    if path in KEPT_PER_NODE or folder in ("errors", HANGS):
        return f"nodes/{node_rank}/{path}"
    if folder in ("logs", "outputs") and rest.startswith("rank_"):
        rank = RANK.match(rest)
        owned = ranks if folder == "logs" or of_outputs is None else of_outputs
        if rank is None or int(rank.group(1)) not in owned:
            if rank is None or not starts_ranks:
                return None
            return f"nodes/{node_rank}/{rest}" if folder == "logs" else f"outputs/node_{node_rank}/{rest}"
        # Files named by rank do not collide.
        return f"ranks/{rest}" if folder == "logs" else f"outputs/{rest}"
    if folder == "logs":
        return f"nodes/{node_rank}/{rest}"
    if folder == "outputs" and rest:
        return f"outputs/{rest}" if 0 in ranks else f"outputs/node_{node_rank}/{rest}"
    return None


def log_label(path: str) -> str | None:
    """Return whose log a file of a run directory is, ``launcher`` or ``rank3``; None for another file."""
    log = LOG.fullmatch(path)
    if log is None:
        return None
    return "launcher" if log.group(2) is None else f"rank{int(log.group(2))}"


def node_log_name(node_rank: int, created: object) -> str:
    """Return ``logs/node_0_20261120_143052.txt`` for a run created at 2026-11-20T14:30:52Z."""
    stamp = "" if seconds_of(created) is None else "_" + re.sub("[-:Z]", "", str(created)).replace("T", "_")
    return f"logs/node_{node_rank}{stamp}.txt"


def merge_logs(logs: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Merge stamped logs (label -> lines, each in order) by time into lines like ``<time> rank0 | text``."""

    def entries(label: str, lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        for line in lines:
            stamp, _space, text = line.rstrip("\n").partition(" ")
            yield stamp, label, text

    streams = [entries(label, lines) for label, lines in logs.items()]
    for stamp, label, text in heapq.merge(*streams, key=lambda entry: entry[0]):
        yield f"{stamp} {label} | {text}\n"
