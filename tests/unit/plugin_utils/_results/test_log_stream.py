# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that grow, are renamed and replaced, read by a real shell; and the lines of several nodes by time."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.muster.train.plugins.plugin_utils._results.grep import Grep
from ansible_collections.muster.train.plugins.plugin_utils._results.log_frames import (
    parse_news,
    read_news,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.log_stream import (
    GrowingLogs,
    LogLine,
    Merger,
    Page,
    most_bytes,
    names_of,
)

MARKER = "0123456789abcdef"
NOISE = ("", "Welcome to gpu01\n", "\x1b]0;gpu01\x07", '{"phase": "failed"}', f"+ sh -c '...' {MARKER} document\n")


def stamped(*texts: bytes, second: int = 0) -> bytes:
    return b"".join(b"2026-11-20T14:30:%02d.000Z %s\n" % (second, text) for text in texts)


def read(folder: Path, logs: GrowingLogs, most: int = 1 << 20, rank: int | None = None) -> list[str]:
    """Read what is new as the action does, with a login's text around it; return the texts."""
    command = read_news(MARKER, [str(folder / "state.json")], str(folder), names_of(rank), most, logs.positions)
    output = subprocess.run(["sh", "-c", command], capture_output=True, check=False).stdout.decode()
    news = parse_news(f"Welcome\n{output}".replace("\n", "\r\n"), MARKER)
    assert news is not None
    return [line.text for line in logs.take(news.parts)]


def test_each_line_once_though_the_log_is_renamed(tmp_path: Path) -> None:
    logs, log = GrowingLogs("n1", Grep(None)), tmp_path / "rank_00.log"
    log.write_bytes(stamped(b"a", b"b"))
    assert read(tmp_path, logs) == ["a", "b"]
    assert read(tmp_path, logs) == []
    with log.open("ab") as stream:
        stream.write(stamped(b"c") + b"2026-11-20T14:30:00.000Z half")
    assert read(tmp_path, logs) == ["c"]
    with log.open("ab") as stream:
        stream.write(b" and half\n")
    log.rename(tmp_path / "rank_00.first.log")
    log.write_bytes(stamped(b"\xff\x1b[31md", second=1))
    (tmp_path / "rank_01.log").write_bytes(stamped(b"late", second=2))
    assert read(tmp_path, logs) == ["half and half", "\N{REPLACEMENT CHARACTER}d", "late"]
    assert read(tmp_path, GrowingLogs("n1", Grep(None)), rank=1) == ["late"]


def overflow(folder: Path) -> tuple[list[str], list[str]]:
    """Read a log of which most was written since: what is read first, and then."""
    logs, log = GrowingLogs("n1", Grep("[0-9]")), folder / "node.log"
    log.write_bytes(stamped(*(b"line %05d" % number for number in range(1000))))
    before = read(folder, logs, most=1000)
    with log.open("ab") as stream:
        stream.write(stamped(*(b"line %05d" % number for number in range(1000, 60000))))
    return before, read(folder, logs, most=1000)


def test_what_is_too_much_is_skipped(tmp_path: Path) -> None:
    before, (skipped, *texts) = overflow(tmp_path)
    assert before[-1] == "line 00999" and len(before) == 1000 // len(stamped(b"line 00000"))
    assert skipped.startswith("… 2.0 MiB ")
    assert texts[-1] == "line 59999" and len(texts) == len(before)


@pytest.mark.parametrize("before", NOISE)
@pytest.mark.parametrize("after", NOISE)
def test_the_documents_come_with_it_whatever_a_login_prints(tmp_path: Path, before: str, after: str) -> None:
    (tmp_path / "it's $HOME").write_text('{"phase": "succeeded"}')
    command = read_news(MARKER, [str(tmp_path / name) for name in ("it's $HOME", "none")], "/nowhere", "*", 9, {})
    output = subprocess.run(["sh", "-c", command], capture_output=True, check=False).stdout.decode()
    news = parse_news(before + output + after, MARKER)
    assert news is not None
    state, absent = news.documents
    assert (state, news.parts) == ('{"phase": "succeeded"}', [])
    # It is shown where the state cannot be read.
    assert absent.strip() == f"base64: {tmp_path}/none: No such file or directory"


@pytest.mark.parametrize("output", ["", "Welcome", f"\n{MARKER} document\ntext", f"{MARKER}\n{MARKER}\n"])
def test_an_output_without_an_end(output: str) -> None:
    assert parse_news(output, MARKER) is None


@given(st.text())
def test_no_text_is_an_exception(text: str) -> None:
    parse_news(text, MARKER)
    parse_news(f"{MARKER} file a 1 2 3\n{text}\n{MARKER} document\n{text}\n{MARKER} end\n", MARKER)


def line(second: int, node: str) -> LogLine:
    return LogLine(f"2026-11-20T14:30:{second:02d}.000Z", node, 0, f"{node} {second}")


def test_lines_wait_until_each_node_has_answered() -> None:
    now = [0.0]
    merger = Merger(["n1", "n2"], 2, lambda: now[0])
    merger.add("n1", [line(1, "n1"), line(3, "n1")])
    assert merger.due() == []
    merger.add("n2", [line(2, "n2"), line(4, "n2")])
    assert [due.text for due in merger.due()] == ["n1 3", "n2 4"]  # the last two of those that were there before
    now[0] = 1.0
    merger.add("n1", [line(6, "n1")])
    assert merger.due() == []
    now[0] = 1.5
    merger.add("n2", [line(5, "n2"), line(7, "n2")])
    assert [due.text for due in merger.due()] == ["n2 5", "n1 6"]
    now[0] = 3.1  # n1 is silent
    assert [due.text for due in merger.due()] == ["n2 7"]
    merger.add("n2", [line(8, "n2")])
    assert merger.due() == []
    merger.forget("n1")
    assert [due.text for due in merger.due()] == ["n2 8"]
    merger.add("n1", [line(9, "n1")])
    assert [due.text for due in merger.due(at_end=True)] == ["n1 9"]


def test_of_what_was_there_before_only_the_last_lines_are_shown() -> None:
    now = [0.0]
    merger = Merger(["n1", "n2"], 2, lambda: now[0])
    merger.add("n1", [line(1, "n1")])
    now[0] = 0.5
    merger.add("n2", [line(second, "n2") for second in (1, 2, 3, 4)])
    assert [due.text for due in merger.due()] == ["n2 3", "n2 4"]
    assert merger.due(at_end=True) == []


def test_the_column_of_ranks_only_grows() -> None:
    page = Page()
    assert page.text([line(1, "n1")]) == ["2026-11-20 14:30:01.000 n1/rank0 | n1 1"]
    assert page.text([line(2, "node10"), line(3, "n1")]) == [
        "2026-11-20 14:30:02.000 node10/rank0 | node10 2",
        "2026-11-20 14:30:03.000 n1/rank0     | n1 3",
    ]


def test_what_is_read_at_a_time_is_bounded() -> None:
    assert most_bytes(1, 1) == 1 << 20
    assert most_bytes(8, 9) == (1 << 19) // 9
    assert most_bytes(64, 9) == 16 << 10
