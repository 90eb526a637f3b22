# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a launcher ended: the first failing rank, as the launcher file reports it, or the launcher's own status."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..._records.cause import message_of
from ..._records.job import NO_MESSAGE
from ..._records.likeness import Likeness
from ..._records.run import RankFailure
from ..._text.order import natural
from ..process_tree import signal_name

TRACEBACK_LINES = 20
# What a ruled line between the parts of a log consists of.
RULE = "=-_*#~ "


def split_status(code: int) -> tuple[int | None, str | None]:
    """Split a Python return code into (exit code, None) or (None, signal name)."""
    return (None, signal_name(-code)) if code < 0 else (code, None)


def explain_stop(why: str, killed: list[str | None]) -> str:
    """Say in one line why the run was stopped, and which ranks did not end by themselves (None: no rank)."""
    ranks = sorted({rank for rank in killed if rank is not None}, key=natural)
    if not killed:
        return why
    subject = f"rank{'s' * (len(ranks) > 1)} {', '.join(ranks)}" if ranks else "the launcher"
    return f"{why}; {subject} did not exit after SIGTERM and {'were' if len(ranks) > 1 else 'was'} killed"


def describe(record: dict[str, Any]) -> RankFailure:
    """Turn one reported failure into the state's record."""
    code, number = split_status(int(record.get("code", 1)))
    message, traceback, when = read_error(record.get("error"))
    status = {"exit_code": code, "signal": number, "message": message, "traceback": traceback}
    return RankFailure.from_dict({**record, **status, "time": record.get("time") if when is None else when})


def read_error(error: Any) -> tuple[str | None, list[str], float | None]:
    """Return message, last lines of the traceback and time of a torch error file (``{"message": str | {...}}``)."""
    body = error.get("message") if isinstance(error, dict) else None
    if isinstance(body, str):
        return (None if body == NO_MESSAGE else body), [], None
    if not isinstance(body, dict):
        return None, [], None
    extra = body.get("extraInfo")
    extra = extra if isinstance(extra, dict) else {}
    try:
        when = float(extra["timestamp"])
    except (KeyError, TypeError, ValueError):
        when = None
    lines = str(extra.get("py_callstack") or "").strip().splitlines()
    return str(body.get("message") or "") or None, lines[-TRACEBACK_LINES:], when


def blame_memory(failures: list[RankFailure], kills: int, detail: str) -> list[RankFailure]:
    """Return the failures with the kernel's: the first ranks to die by SIGKILL, as many as it killed processes."""
    killed = sorted((failure for failure in failures if failure.signal == "SIGKILL"), key=lambda one: one.time or 0.0)
    ranks = [failure.rank for failure in killed[:kills]]
    return [
        dataclasses.replace(failure, oom_detail=detail, oom_killed=True, likeness=int(Likeness.OWN))
        if failure.rank in ranks
        else failure
        for failure in failures
    ]


def explain(first: RankFailure | None, code: int, log_tail: list[str]) -> str:
    """Say in one line why the launcher failed; without a message, with the last line of its log that has text."""
    last_line = next((line for line in reversed(log_tail) if line.strip(RULE)), None)
    if first is not None:
        detail = message_of(first, first.message) or (None if first.signal else last_line)
        how = f"killed by {first.signal}" if first.signal else f"exited with code {first.exit_code}"
        return f"rank {first.rank} {how}" + (f": {detail}" if detail else "")
    exit_code, number = split_status(code)
    if number:
        return f"the launcher was killed by {number}"
    return f"the launcher exited with code {exit_code}" + (f": {last_line}" if last_line else "")
