# SPDX-License-Identifier: GPL-3.0-or-later
"""A function in a process of its own, which is killed at its time limit: nothing else ends a transfer that hangs."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any

from ..._records.pairs import STALLED

CHUNK = 65536
# How long a process may take to end once it is killed: one that waits for a device may never.
KILL_S, POLL_S = 3.0, 0.02


def run_apart(function: Callable[[], dict[str, Any]], limit_s: float) -> dict[str, Any]:
    """Return what the function returns, or its exception as `error`; `outcome` is STALLED if it exceeds the limit.

    Nothing but this process's own threads is lost: the function may use what is imported, and must not need its locks.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(function, writing)
    os.close(writing)
    try:
        text = _read(reading, time.monotonic() + limit_s)
    finally:
        os.close(reading)
        is_gone = _kill(child)
    if text is None:
        left = "" if is_gone else f"; its process {child} cannot be killed"
        return {"outcome": STALLED, "why": f"no result after {limit_s:g} s{left}"}
    result: dict[str, Any] = json.loads(text) if text else {"error": "the process of the measurement ended early"}
    return result


def _answer(function: Callable[[], dict[str, Any]], writing: int) -> None:
    """Write the answer and end at once, so that what the parent has open stays as it is."""
    try:
        answer = function()
    except BaseException as error:  # whatever it is, the parent reports it
        answer = {"error": "".join(traceback.format_exception_only(type(error), error)).strip()}
    try:
        os.write(writing, json.dumps(answer).encode()[:CHUNK])
    finally:
        os._exit(0)


def _kill(child: int) -> bool:
    """Kill a process and return whether it is gone."""
    os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + KILL_S
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _read(reading: int, deadline: float) -> bytes | None:
    parts = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return None
        part = os.read(reading, CHUNK)
        if not part:
            return bytes(parts)
        parts += part
