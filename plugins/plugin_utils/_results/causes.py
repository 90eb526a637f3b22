# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which failure of a run is the cause, and which only followed from it.

When one rank dies, every other rank fails too: its collective loses a peer, or its torchrun ends it. Times alone do not
tell them apart: torchrun's have a resolution of 1 s and often put the follower first, and nodes' clocks differ.
"""

from __future__ import annotations

import calendar
import enum
import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.job import NO_MESSAGE

from .._text.table import one_line

# A connection that ended or never came about, in the words of gloo (transport/tcp/pair.cc), TCPStore (c10d/Utils.hpp,
# socket.cpp), NCCL (misc/socket.cc, ncclGetErrorString) and ProcessGroupNCCL's watchdog.
_LOST = re.compile(
    r"connection (?:was likely )?(?:closed|reset)|broken pipe|socket (?:unexpectedly )?closed|pair closure"
    r"|remote (?:peer closed|process exited|worker crashing|worker hanging|server shutdown)|ncclRemoteError"
    r"|(?:socket|connect|wait) time-?out|timed out (?:after .* )?waiting|timeout waiting for key"
    r"|client socket has (?:failed to connect|timed out)|failed to (?:recv|send), (?:got|sent) 0 bytes"
    r"|connectFullMesh failed|watchdog caught|operations have failed or timed out|no route to host|monitoredBarrier",
    re.IGNORECASE,
)
# Whose connection it was: a data loader's broken pipe is no lost peer.
_DISTRIBUTED = re.compile(
    r"gloo|nccl|c10d|TCPStore|Dist(?:Network|Backend|Store)Error|SocketImpl|client socket|waiting for clients"
    r"|remote worker|timeout waiting for key|watchdog",
    re.IGNORECASE,
)
# How Python ends what it says of an uncaught exception; torch puts the rank in front.
_EXCEPTION = re.compile(
    r"(?:\[rank\d+\]:\s*)?((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Timeout)\b.*)"
)
# Where in its source a library failed: of use to its authors, who find it in the log.
_SOURCE = re.compile(r"\[[^\]\s]*\.(?:cc|cpp|h|hpp|cu):\d+\] ?")
TAIL_LINES = 20


class Likeness(enum.IntEnum):
    """How much a failure looks like the cause of the others; lower is more."""

    OWN = 0  # nothing in it speaks of another rank
    LOST = 1  # a runner that died without a word, and its ranks with it
    SILENT = 2  # a node that does not answer
    UNCLEAR = 3  # a signal that NCCL or an operator sends, a connection that may be anybody's
    PEER = 4  # a collective or the store lost its other end
    ENDED = 5  # torchrun ends the other ranks of a node when one fails


@dataclass(frozen=True)
class Failure:
    """One thing that went wrong on a node; without a rank it is the launcher's or the node's. Time: unix seconds."""

    node: str
    rank: int | None
    what: str
    likeness: Likeness
    time: float = math.inf
    record: Mapping[str, Any] | None = None
    tail: Sequence[str] = ()

    @property
    def text(self) -> str:
        """Say it in one line, the node first."""
        prefix = f"{self.node}: "
        return self.what if self.what.startswith(prefix) else prefix + self.what


def looks_lost(text: str) -> Likeness:
    """Judge the words of a failure that was no signal."""
    if not _LOST.search(text):
        return Likeness.OWN
    return Likeness.PEER if _DISTRIBUTED.search(text) else Likeness.UNCLEAR


def last_exception(lines: Iterable[str]) -> str | None:
    """Return the last line that names an uncaught exception."""
    found = None
    for line in lines:
        match = _EXCEPTION.match(line.strip())
        found = match.group(1) if match else found
    return found


def of_run(run: Mapping[str, Any]) -> list[Failure]:
    """Return what went wrong in the part of a run on one node: its failed ranks, or why it has none."""
    node, why = str(run["node"]), str(run.get("why") or run["phase"])
    phase = run["phase"]
    if phase == "lost":
        return [Failure(node, None, one_line(why), Likeness.LOST)]
    if phase in ("unreachable", "unknown"):
        return [Failure(node, None, one_line(f"{phase}: {why}"), Likeness.SILENT)]
    if phase != "failed":
        return []
    tail = [str(line) for line in run.get("log_tail") or []]
    records = run.get("failures") or ([run["first"]] if run.get("first") else [])
    if not records:
        likeness = looks_lost("\n".join([why, *tail[-TAIL_LINES:]]))
        return [Failure(node, None, one_line(why), likeness, _epoch(run), None, tail)]
    return [_of_rank(node, record, records) for record in records]


def _of_rank(node: str, record: Mapping[str, Any], beside: Sequence[Mapping[str, Any]]) -> Failure:
    tail = [str(line) for line in record.get("log_tail") or []]
    signal, message = record.get("signal"), record.get("message")
    if message in (None, NO_MESSAGE):
        message = None if signal else last_exception(tail)
    how = f"killed by {signal}" if signal else f"exited with code {record.get('exit_code')}"
    return Failure(
        node=node,
        rank=record.get("rank"),
        what=one_line(f"rank {record.get('rank')} {how}" + (f": {_SOURCE.sub('', str(message))}" if message else "")),
        likeness=_likeness(record, beside, str(message or ""), "\n".join(tail[-TAIL_LINES:])),
        time=_seconds(record),
        record=record,
        tail=tail,
    )


def _likeness(record: Mapping[str, Any], beside: Sequence[Mapping[str, Any]], message: str, tail: str) -> Likeness:
    signal, when = record.get("signal"), _seconds(record)
    if signal == "SIGTERM":
        return Likeness.ENDED if len(beside) > 1 else Likeness.UNCLEAR
    if signal == "SIGKILL" and any(_seconds(other) < when - 1 for other in beside):
        return Likeness.ENDED  # torchrun's patience with a rank that ignores SIGTERM
    if signal == "SIGABRT":  # NCCL's watchdog aborts, and so does a failed assertion
        return max(Likeness.UNCLEAR, looks_lost(tail))
    return Likeness.OWN if signal else looks_lost(message or tail)


def ordered(runs: Iterable[Mapping[str, Any]]) -> list[Failure]:
    """Return all that went wrong in a run, the most likely cause first."""
    failures = [failure for run in runs for failure in of_run(run)]
    return sorted(failures, key=lambda failure: (failure.likeness, failure.time))


def _seconds(record: Mapping[str, Any]) -> float:
    when = record.get("time")
    return float(when) if isinstance(when, (int, float)) else math.inf


def _epoch(run: Mapping[str, Any]) -> float:
    try:
        return float(calendar.timegm(time.strptime(str(run.get("ended")), "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return math.inf
