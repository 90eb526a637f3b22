# SPDX-License-Identifier: GPL-3.0-or-later
"""Which failure of a run is the cause, and which only followed from it: one judgment for node, head and controller.

When one rank dies, every other rank fails too: its collective loses a peer, or its torchrun ends it. Times alone do not
tell them apart: torchrun's have a resolution of 1 s and often put the follower first, and nodes' clocks differ.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from .job import NO_MESSAGE
from .likeness import Likeness, read_likeness
from .nccl_message import specific
from .raised import NAME, SCOPE, TRACEBACK, Raised, read_raised
from .run import RankFailure

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
_TIMED_OUT = re.compile(r"time-?out|timed out", re.IGNORECASE)
# Whose connection it was: a data loader's broken pipe does not mean a lost peer.
_DISTRIBUTED = re.compile(
    r"gloo|nccl|c10d|TCPStore|Dist(?:Network|Backend|Store)Error|SocketImpl|client socket|waiting for clients"
    r"|remote worker|timeout waiting for key|watchdog",
    re.IGNORECASE,
)
# How Python prints an uncaught exception; torch puts the rank in front.
_EXCEPTION = re.compile(rf"(?:\[rank\d+\]:\s*)?({SCOPE}[A-Za-z_]\w*(?:Error|Exception|Interrupt|Timeout)\b.*)")
# The type that Python and torch's error file put before the text of an exception.
_TYPE = re.compile(rf"({SCOPE}{NAME})(?::\s*|$)")
TAIL_LINES = 20
# Of an exception's message in a run's documents, in characters.
MOST_MESSAGE = 4096

T = TypeVar("T")


def judge_launcher(log_tail: Sequence[str]) -> Likeness:
    """Judge a launcher that failed without a failed rank, by its log alone."""
    return judge_text("\n".join(log_tail[-TAIL_LINES:]))


def judge_text(text: str) -> Likeness:
    """Judge the words of a failure that was no signal: those of a library or a program, never of Muster."""
    if not _LOST.search(text):
        return Likeness.OWN
    return Likeness.PEER if _DISTRIBUTED.search(text) else Likeness.UNCLEAR


def has_timed_out(text: str) -> bool:
    """Return whether a rank that lost its peers had waited for them until a time limit."""
    return bool(_TIMED_OUT.search(text))


def last_exception(lines: Iterable[str]) -> str | None:
    """Return the last line that names an uncaught exception."""
    matches = [match for match in (_EXCEPTION.match(line.strip()) for line in lines) if match]
    return matches[-1].group(1) if matches else None


def with_output(failure: RankFailure, raised: Raised | None, warnings: Sequence[str] = ()) -> RankFailure:
    """Return a failure with the exception that the rank printed; torch's error file, where there is one, is better.

    warnings are those that NCCL printed. A rank that a signal ended may have raised an exception long before that
    nothing caught, and have hung since; one that it raises at the signal follows from that.
    """
    has_file = failure.message not in (None, NO_MESSAGE)
    if has_file or raised is None or (failure.signal not in (None, "SIGABRT") and not _hung_after(raised, failure)):
        return dataclasses.replace(failure, warnings=list(warnings))
    message = f"{raised.exception}: {raised.message}" if raised.message else raised.exception
    traceback = failure.traceback or raised.traceback[-TAIL_LINES:]
    return dataclasses.replace(
        failure,
        message=message[:MOST_MESSAGE],
        because=raised.because,
        traceback=traceback,
        warnings=list(warnings),
    )


def _hung_after(raised: Raised, failure: RankFailure) -> bool:
    """Return whether a rank that a signal ended had raised an exception by which it would have ended."""
    is_early = raised.time is not None and raised.time < _time(failure) - 1
    return is_early and raised.would_end


def _unwrapped(message: str) -> str:
    """Return the exception of a worker process that a message quotes, else the message."""
    raised = read_raised(message.splitlines()) if TRACEBACK in message else None
    return message if raised is None else f"{raised.exception}: {raised.message}"


def message_of(failure: RankFailure, message: str | None) -> str | None:
    """Return a rank's message, for people: with what led to it, and what the runner knows of memory that ran out."""
    return "; ".join(filter(None, (message, failure.because, failure.oom_detail))) or None


def split_exception(message: str | None) -> tuple[str | None, str | None]:
    """Return the type and the text of an exception: (`ValueError`, `no such layer`)."""
    match = _TYPE.match(message or "")
    return (match.group(1), message[match.end() :]) if match and message else (None, message)


def judge_rank(failure: RankFailure, others: Sequence[RankFailure]) -> RankFailure:
    """Return how a rank failed with its exception, from its log where there was no error file, and its likeness."""
    if failure.message in (None, NO_MESSAGE):
        printed = None if failure.signal else read_raised(failure.log_tail)
        failure = with_output(dataclasses.replace(failure, message=None), printed, failure.warnings)
    message = failure.message
    if message is None:
        message = None if failure.signal else last_exception(failure.log_tail)
    elif failure.exception is None:
        message = _unwrapped(message)
    tail = "\n".join(failure.log_tail[-TAIL_LINES:])
    likeness: int | None = failure.likeness
    if likeness is None:
        likeness = _likeness(failure, others, "\n".join(filter(None, (message, failure.because))), tail)
    exception, text = split_exception(message)
    if exception and text and failure.exception is None:
        message = f"{exception}: {specific(text, failure.warnings)}"
    return dataclasses.replace(
        failure, message=message, exception=failure.exception or exception, likeness=int(likeness), warnings=[]
    )


def _likeness(failure: RankFailure, others: Sequence[RankFailure], message: str, tail: str) -> Likeness:
    if failure.signal == "SIGTERM":
        return Likeness.ENDED if len(others) > 1 else Likeness.UNCLEAR
    if failure.signal == "SIGKILL" and any(_time(other) < _time(failure) - 1 for other in others):
        return Likeness.ENDED  # torchrun's patience with a rank that ignores SIGTERM
    if failure.signal == "SIGABRT" and not message:  # NCCL's watchdog aborts, and so does a failed assertion
        return max(Likeness.UNCLEAR, judge_text(tail))
    # With a message it raised an exception first, and a thread of a library aborted while it exited.
    aborted = failure.signal == "SIGABRT"
    return Likeness.OWN if failure.signal and not aborted else judge_text(message or tail)


def likeliest_first(failures: Iterable[T]) -> list[T]:
    """Return anything with a likeness and a time (unix seconds; None: not known), the most likely cause first."""
    return sorted(failures, key=_order)


def _order(failure: Any) -> tuple[int, float]:
    return (read_likeness(failure.likeness), _time(failure))


def _time(failure: Any) -> float:
    return math.inf if failure.time is None else float(failure.time)
