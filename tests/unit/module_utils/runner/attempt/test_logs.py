# SPDX-License-Identifier: GPL-3.0-or-later
"""The capped log: stamped lines, a beginning that stays, a middle that goes, and a disk that is full."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt.logs import (
    LONGEST_LINE,
    CappedLog,
    stamp,
    step_in,
)
from ansible_collections.muster.train.plugins.module_utils.runner.disk import DiskThread
from ansible_collections.muster.train.tests.support.jobs import wait_for

PATIENCE_S = 60.0


@pytest.fixture
def disk() -> DiskThread:
    return DiskThread()


def text_of(path: Path) -> list[str]:
    return [line.partition(" ")[2] for line in path.read_text().splitlines()]


def test_stamp_is_utc_with_milliseconds() -> None:
    assert stamp(0.25) == "1970-01-01T00:00:00.250Z"


def test_lines_are_whole_however_they_arrive(disk: DiskThread, tmp_path: Path) -> None:
    log = CappedLog(str(tmp_path / "rank_00.log"), 1 << 20, disk)
    for piece in (b"a", b"b\nc", b"\n", b"\xff\n", b"no end"):
        log.feed(piece, 1.0)
    log.close(2.0)
    assert disk.wait(PATIENCE_S)
    lines = (tmp_path / "rank_00.log").read_bytes().splitlines()
    assert [line.partition(b" ")[2] for line in lines] == [b"ab", b"c", b"\xff", b"no end"]
    assert re.fullmatch(rb"1970-01-01T00:00:02.000Z", lines[-1].partition(b" ")[0])


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("step 25/120  loss 2.797", 25),
        (" iteration      100/     500 | consumed samples: 3200", 100),
        ("[2026-11-20] Step: 7, loss=1.0", 7),
        ("{'global_step': 3}", None),
        ("global_step=3", 3),
        ("max_steps=1000, total steps: 1000", None),
        ("steps per second: 5", None),
        ("stepping stone 4", None),
    ],
)
def test_the_step_that_a_line_names(line: str, step: int | None) -> None:
    assert step_in(line) == step


def test_the_beginning_and_the_end_are_kept(disk: DiskThread, tmp_path: Path) -> None:
    log = CappedLog(str(tmp_path / "rank_00.log"), 3 * 4096, disk)
    for number in range(2000):
        log.feed(b"line %d\n" % number, 0.0)
    log.close(0.0)
    assert disk.wait(PATIENCE_S)
    assert text_of(tmp_path / "rank_00.first.log")[0] == "line 0"
    assert text_of(tmp_path / "rank_00.log")[-1] == "line 1999"
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 3 * 4096
    previous, current = text_of(tmp_path / "rank_00.previous.log"), text_of(tmp_path / "rank_00.log")
    assert int(previous[-1].split()[1]) + 1 == int(current[0].split()[1])


def test_an_endless_line_does_not_fill_the_memory(disk: DiskThread, tmp_path: Path) -> None:
    log = CappedLog(str(tmp_path / "rank_00.log"), 1 << 20, disk)
    log.feed(b"x" * (LONGEST_LINE + 10), 0.0)
    assert disk.wait(PATIENCE_S)
    assert [len(line) for line in text_of(tmp_path / "rank_00.log")] == [LONGEST_LINE]


def test_a_log_that_cannot_be_written_counts_what_it_drops(disk: DiskThread, tmp_path: Path) -> None:
    log = CappedLog(str(tmp_path / "nowhere" / "rank_00.log"), 1 << 20, disk)
    log.feed(b"lost\n", 0.0)
    assert disk.wait(PATIENCE_S)
    assert log.dropped == len("1970-01-01T00:00:00.000Z lost\n")
    assert list(log.tail) == ["lost"]
    (tmp_path / "nowhere").mkdir()
    log.feed(b"found\n", 0.0)
    assert disk.wait(PATIENCE_S)
    assert text_of(tmp_path / "nowhere" / "rank_00.log") == ["found"]


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


@pytest.mark.parametrize("remove", [Path.unlink, move_folder])
def test_a_log_that_a_cleaner_removed_is_opened_again(
    remove: Callable[[Path], object], disk: DiskThread, tmp_path: Path
) -> None:
    path = tmp_path / "logs" / "rank_00.log"
    path.parent.mkdir()
    log = CappedLog(str(path), 1 << 20, disk)
    log.feed(b"before\n", 0.0)
    assert disk.wait(PATIENCE_S)
    remove(path)
    path.parent.mkdir(exist_ok=True)  # the upkeep's part

    def is_written() -> bool:
        log.feed(b"after\n", 0.0)
        return disk.wait(PATIENCE_S) and path.exists()

    wait_for(is_written, "the log is there again", PATIENCE_S)
    log.close(0.0)
    assert disk.wait(PATIENCE_S)
    assert set(text_of(path)) == {"after"}


def test_a_log_that_is_removed_just_before_its_next_part_goes_on(disk: DiskThread, tmp_path: Path) -> None:
    path = tmp_path / "rank_00.log"
    log = CappedLog(str(path), 3 * 4096, disk)
    log.feed(b"x" * 4000 + b"\n", 0.0)
    assert disk.wait(PATIENCE_S)
    path.unlink()
    for number in range(3):
        log.feed(b"%d" % number * 4000 + b"\n", 0.0)
    log.close(0.0)
    assert disk.wait(PATIENCE_S)
    assert log.dropped == 0
    kept = ["rank_00.first.log", "rank_00.previous.log", "rank_00.log"]
    assert [text_of(tmp_path / name)[0][0] for name in kept] == ["0", "1", "2"]


def test_a_log_never_follows_a_link(disk: DiskThread, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    os.symlink(victim, tmp_path / "rank_00.log")
    log = CappedLog(str(tmp_path / "rank_00.log"), 1 << 20, disk)
    log.feed(b"evil\n", 0.0)
    assert disk.wait(PATIENCE_S)
    assert victim.read_text() == "mine\n"
    assert log.dropped > 0


@pytest.mark.parametrize("data", [b"\r\n", b"\n"])
def test_carriage_returns_are_removed(disk: DiskThread, tmp_path: Path, data: bytes) -> None:
    log = CappedLog(str(tmp_path / "rank_00.log"), 1 << 20, disk)
    log.feed(b"progress" + data, 0.0)
    assert disk.wait(PATIENCE_S)
    assert text_of(tmp_path / "rank_00.log") == ["progress"]


def test_the_tail_shows_progress_bars_as_terminals_do_and_cuts_long_lines(disk: DiskThread, tmp_path: Path) -> None:
    log = CappedLog(str(tmp_path / "rank_00.log"), 1 << 20, disk)
    log.feed(b"".join(b"\r%3d %%" % done for done in range(101)) + b"\n" + b"x" * 50_000 + b"\n", 0.0)
    assert list(log.tail) == ["100 %", "x" * 1024]
    log.close(0.0)


def progress_bar(done: int, end: str = "") -> bytes:
    """Return what tqdm writes: it wipes nothing, and begins with the carriage return."""
    return f"\r{done:3d}%|{'█' * (done // 10):<10}| {done}/100 [00:{done // 20:02d}<00:05, 20.00it/s]{end}".encode()


def test_a_progress_bar_is_logged_now_and_then_and_as_it_ends(disk: DiskThread, tmp_path: Path) -> None:
    shown: list[tuple[str, float]] = []
    log = CappedLog(
        str(tmp_path / "rank_00.log"), 1 << 20, disk, lambda line, now: shown.append((line.partition("|")[0], now))
    )
    log.feed(b"begin\n", 99.0)
    for number in range(101):  # 20 Hz
        log.feed(progress_bar(number), 100.0 + number / 20)
    log.feed(b"\nend\n", 105.5)
    assert shown == [
        ("begin", 99.0),
        ("  0%", 100.0),
        (" 40%", 102.0),
        (" 80%", 104.0),
        ("100%", 105.5),
        ("end", 105.5),
    ]
    # On a terminal it is one row.
    assert [line.partition("|")[0] for line in log.tail] == ["begin", "100%", "end"]
    log.close(106.0)
    assert disk.wait(PATIENCE_S)
    lines = (tmp_path / "rank_00.log").read_bytes().split(b"\n")
    assert [line.partition(b"|")[0] for line in lines] == [
        b"1970-01-01T00:01:39.000Z begin",
        b"1970-01-01T00:01:40.000Z   0%",
        b"1970-01-01T00:01:42.000Z  40%",
        b"1970-01-01T00:01:44.000Z  80%",
        b"1970-01-01T00:01:45.500Z 100%",
        b"1970-01-01T00:01:45.500Z end",
        b"",
    ]


def test_a_bar_that_stands_still_is_logged_when_it_is_due(disk: DiskThread, tmp_path: Path) -> None:
    log = CappedLog(str(tmp_path / "rank_00.log"), 1 << 20, disk)
    log.feed(b"1 %\r", 10.0)
    log.feed(b"2 %\r", 10.5)
    log.tick(11.0)
    assert list(log.tail) == ["1 %"]
    for now in (12.0, 14.0, 16.0):
        log.tick(now)
    log.feed(b"\n", 20.0)  # as it was last logged
    log.feed(b"next\r\n\r\n", 21.0)
    log.close(22.0)
    assert disk.wait(PATIENCE_S)
    assert text_of(tmp_path / "rank_00.log") == ["1 %", "2 %", "next", ""]
    assert list(log.tail) == ["2 %", "next", ""]


def test_a_bar_that_is_wiped_out_leaves_what_follows(disk: DiskThread, tmp_path: Path) -> None:
    log = CappedLog(str(tmp_path / "rank_00.log"), 1 << 20, disk)
    log.feed(b"\r100 %", 10.0)
    log.feed(b"\r      \r", 10.1)  # tqdm(leave=False)
    log.feed(b"saved\n\r 50 %\r      \r\n", 10.2)
    log.close(11.0)
    assert disk.wait(PATIENCE_S)
    assert text_of(tmp_path / "rank_00.log") == ["100 %", "saved", " 50 %"]


@pytest.mark.parametrize("size", [1, 3, 1000, 65536])
def test_any_bytes_become_stamped_lines_and_little_is_kept(disk: DiskThread, tmp_path: Path, size: int) -> None:
    data = random.Random(size).randbytes(300_000 if size > 3 else 3000) + b"\r" + b"x" * 200_000 * (size > 3)
    log = CappedLog(str(tmp_path / "rank_00.log"), 1 << 24, disk)
    for at in range(0, len(data), size):
        log.feed(data[at : at + size], at / 1e5)
        assert len(log._partial) <= LONGEST_LINE + 1
    log.close(99.0)
    assert disk.wait(PATIENCE_S)
    written = (tmp_path / "rank_00.log").read_bytes()
    assert b"\r" not in written
    lines = written.removesuffix(b"\n").split(b"\n")
    assert [line for line in lines if not re.match(rb"1970-01-01T00:0\d:\d\d\.\d{3}Z ", line)] == []
