# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk thread, with a FIFO that does not answer in place of storage that does not."""

from __future__ import annotations

import functools
import os
import selectors
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.disk import CALL_BYTES, DiskThread
from ansible_collections.muster.train.plugins.module_utils.runner.state import State
from ansible_collections.muster.train.tests.support.jobs import state_of_dir, wait_for

PATIENCE_S = 60.0


class Storage:
    """A file that cannot be read before it is thawed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)

    def read(self) -> str:
        return self.path.read_text()

    def thaw(self) -> None:
        self.path.write_text("thawed")


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "storage")


@pytest.fixture
def disk() -> Iterator[DiskThread]:
    disk = DiskThread()
    yield disk
    assert disk.wait(PATIENCE_S)


def stall(disk: DiskThread, storage: Storage) -> None:
    """Let the thread wait for the storage."""
    disk.add(storage.read)
    wait_for(lambda: disk.stalled_s(time.monotonic()) > 0, "the storage does not answer", PATIENCE_S)


def test_storage_that_does_not_answer_stops_its_thread_only(disk: DiskThread, storage: Storage) -> None:
    assert disk.stalled_s(time.monotonic()) == 0
    answer = disk.ask(storage.read)
    wait_for(lambda: disk.stalled_s(time.monotonic()) > 0.2, "its silence is measured", PATIENCE_S)
    assert not disk.wait(0)
    assert not answer.done
    storage.thaw()
    assert disk.wait(PATIENCE_S)
    assert (answer.done, answer.value, disk.stalled_s(time.monotonic())) == (True, "thawed", 0)


def test_calls_are_made_in_order_and_the_latest_of_a_key_in_turn(disk: DiskThread, storage: Storage) -> None:
    made: list[str] = []
    stall(disk, storage)
    for number in range(1000):  # as many heartbeats as come during a long stall cost one
        disk.put("beat", functools.partial(made.append, f"beat {number}"))
    disk.put("state", lambda: made.append("running"))
    disk.add(lambda: made.append("log"))
    disk.put("state", lambda: made.append("stopping"))
    assert made == []
    storage.thaw()
    assert disk.wait(PATIENCE_S)
    assert made == ["beat 999", "stopping", "log"]


def test_a_call_that_is_put_often_is_made_though_the_queue_never_empties(disk: DiskThread) -> None:
    looks: list[int] = []
    begun, may_end = threading.Semaphore(0), threading.Semaphore(0)

    def write() -> None:
        begun.release()
        may_end.acquire(timeout=PATIENCE_S)

    disk.add(write)
    for number in range(4):
        disk.add(write)
        disk.put("look", functools.partial(looks.append, number))
        assert begun.acquire(timeout=PATIENCE_S)
        may_end.release()
    try:
        assert looks
    finally:
        may_end.release()


def test_the_terminal_state_is_written_after_all_else(disk: DiskThread, storage: Storage, tmp_path: Path) -> None:
    stall(disk, storage)
    state = State(str(tmp_path), {}, disk.put)
    state.change("running")
    log = disk.ask(lambda: state_of_dir(tmp_path))
    state.change("succeeded")
    storage.thaw()
    assert disk.wait(PATIENCE_S)
    assert log.result() == {}
    assert state_of_dir(tmp_path)["phase"] == "succeeded"


def test_what_waits_in_memory_is_counted(disk: DiskThread, storage: Storage) -> None:
    assert disk.wait(PATIENCE_S)
    stall(disk, storage)
    before = disk.backlog
    disk.add(lambda: None, 10_000)
    assert disk.backlog == before + 10_000 + CALL_BYTES
    storage.thaw()
    wait_for(lambda: disk.backlog == 0, "nothing waits any more", PATIENCE_S)


def test_an_answer_restarts_the_time_of_silence(disk: DiskThread) -> None:
    go_on, noted, over = threading.Event(), threading.Event(), threading.Event()

    def walk() -> None:
        go_on.wait(PATIENCE_S)
        disk.note_answer()
        noted.set()
        over.wait(PATIENCE_S)

    disk.add(walk)
    wait_for(lambda: disk.stalled_s(time.monotonic()) > 0.2, "it lasts", PATIENCE_S)
    before = time.monotonic()
    go_on.set()
    assert noted.wait(PATIENCE_S)
    assert disk.stalled_s(before) == 0
    over.set()


def test_an_answer_wakes_the_loop(disk: DiskThread, storage: Storage) -> None:
    with selectors.DefaultSelector() as selector:
        disk.wake(selector)
        answer = disk.ask(storage.read)
        assert selector.select(0) == []
        threading.Thread(target=storage.thaw).start()
        [(key, events)] = selector.select(PATIENCE_S)
        key.data(events)
        assert answer.done
        assert selector.select(0) == []


def test_an_error_of_the_storage_is_an_answer_and_any_other_a_bug(disk: DiskThread, tmp_path: Path) -> None:
    answer = disk.ask((tmp_path / "absent").read_text)
    assert disk.wait(PATIENCE_S)
    assert isinstance(answer.error, FileNotFoundError)
    disk.check()
    answer = disk.ask(functools.partial({"present": 1}.pop, "absent"))
    assert disk.wait(PATIENCE_S)
    for raise_bug in (disk.check, answer.result):
        with pytest.raises(KeyError):
            raise_bug()
