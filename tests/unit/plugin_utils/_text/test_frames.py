# SPDX-License-Identifier: GPL-3.0-or-later
"""Files between markers, by a real shell, and whatever a login prints around them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._text.frames import framed_read, framed_texts

MARKER = "0123456789abcdef"
NOISE = ("", "Welcome to gpu01\n", "\x1b]0;gpu01\x07", '{"phase": "failed"}', f"+ sh -c '...' {MARKER} state.json\n")


def printed(*paths: Path) -> str:
    command = framed_read(MARKER, list(map(str, paths)))
    done = subprocess.run(
        ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
    )
    return done.stdout


@pytest.mark.parametrize("before", NOISE)
@pytest.mark.parametrize("after", NOISE)
def test_text_around_the_frames(tmp_path: Path, before: str, after: str) -> None:
    paths = tmp_path / "it's $HOME", tmp_path / "b"
    paths[0].write_text('{"a": 1}')
    paths[1].write_text('{"b": 2}\n')
    texts = framed_texts(before + printed(*paths) + after, MARKER, 2)
    assert texts is not None
    assert [text.strip() for text in texts] == ['{"a": 1}', '{"b": 2}']


def test_a_file_that_is_absent_is_empty(tmp_path: Path) -> None:
    texts = framed_texts(printed(tmp_path / "absent"), MARKER, 1)
    assert texts is not None and texts[0].strip() == ""


def test_lines_of_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    texts = framed_texts(printed(tmp_path / "a").replace("\n", "\r\n"), MARKER, 1)
    assert texts is not None and texts[0].strip() == "text"


@pytest.mark.parametrize("output", ["", "Welcome", f"\n{MARKER}\ntext", f"{MARKER}\n{MARKER}\n{MARKER}\n"])
def test_a_missing_marker(output: str) -> None:
    assert framed_texts(output, MARKER, 1) is None
