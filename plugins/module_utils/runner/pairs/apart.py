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

CHUNK = 65536


def run_apart(function: Callable[[], dict[str, Any]], limit_s: float) -> dict[str, Any] | None:
    """Return what the function returns, or its exception as `error`; None if it takes longer than the limit.

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
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if text is None:
        return None
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
