# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk thread: all file I/O of a run, in order, so that storage that stands still stops nothing else."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import errno
import os
import selectors
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

from .._records.frozen import frozen

# What a call costs in memory beside its data.
CALL_BYTES = 512


@dataclasses.dataclass
class Answer:
    """What became of a call: its value or its error, once it is done."""

    done: bool = False
    value: Any = None
    error: Exception | None = None

    def result(self) -> Any:
        """Return the value; raise what the call raised, and OSError where it has not been made yet."""
        if not self.done:
            raise TimeoutError(errno.ETIMEDOUT, "the storage does not answer")
        if self.error is not None:
            raise self.error
        return self.value


@frozen
class _Call:
    function: Callable[[], Any]
    size: int
    answer: Answer | None


class DiskThread:
    """One thread that makes the calls that it is given, in their order; who adds a call does not wait for it.

    A call that fails with OSError costs itself only; any other exception is a bug, which `check` raises.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calls: collections.OrderedDict[Hashable, _Call] = collections.OrderedDict()
        self._busy_since: float | None = None
        self._bug: Exception | None = None
        self._wake_end: int | None = None
        self.backlog = 0  # bytes of memory that wait to be written
        # A daemon: a call that never returns must not keep the process from ending.
        threading.Thread(target=self._work, name="disk", daemon=True).start()

    def wake(self, selector: selectors.BaseSelector) -> None:
        """Let the selector return at once when an answer has come, and not at the next tick."""
        read_end, self._wake_end = os.pipe()
        for end in (read_end, self._wake_end):
            os.set_blocking(end, False)
        selector.register(read_end, selectors.EVENT_READ, lambda _events: os.read(read_end, 4096))

    def add(self, function: Callable[[], Any], size: int = 0) -> None:
        """Make a call after all others; size: the bytes of memory it holds until then."""
        self._insert(object(), _Call(function, size + CALL_BYTES, None))

    def put(self, key: str, function: Callable[[], Any], last: bool = False) -> None:
        """Make a call instead of an earlier one with this key that has not begun; last: after all others.

        Else it takes the earlier one's turn: a call that is put often would never be made in a queue that stays full.
        """
        self._insert(key, _Call(function, 0, None), last)

    def ask(self, function: Callable[[], Any]) -> Answer:
        """Make a call after all others; return its answer, which comes later."""
        answer = Answer()
        self._insert(object(), _Call(function, 0, answer))
        return answer

    def stalled_s(self, now: float) -> float:
        """Return for how many seconds the storage has not answered, 0 where nothing waits for it."""
        since = self._busy_since
        return 0.0 if since is None else max(0.0, now - since)

    def note_answer(self) -> None:
        """Note, within a long call, that the storage does answer."""
        self._busy_since = time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait until every call is made; False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._calls and self._busy_since is None, seconds)

    def check(self) -> None:
        """Raise the exception of a call that had a bug."""
        if self._bug is not None:
            raise self._bug

    def _insert(self, key: Hashable, call: _Call, last: bool = False) -> None:
        with self._changed:
            self._calls[key] = call
            if last:
                self._calls.move_to_end(key)
            self.backlog += call.size
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._busy_since = None
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._calls)
                call = self._calls.popitem(last=False)[1]
                self._busy_since = time.monotonic()
            self._make(call)
            with self._changed:
                self.backlog -= call.size

    def _make(self, call: _Call) -> None:
        answer = call.answer or Answer()
        try:
            answer.value = call.function()
        except OSError as error:
            answer.error = error
        except Exception as error:
            answer.error = self._bug = error
        answer.done = True
        if call.answer is not None and self._wake_end is not None:
            with contextlib.suppress(BlockingIOError):  # the pipe is full, so the loop wakes anyway
                os.write(self._wake_end, b".")
