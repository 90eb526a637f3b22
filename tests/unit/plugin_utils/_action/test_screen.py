# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of what people read: who reads it decides where and how it is printed."""

from __future__ import annotations

import os
import pty
import sys

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._action import screen

COLLECTIONS = screen.__file__.partition("/ansible_collections/")[0]
PROGRAM = "from ansible_collections.muster.train.plugins.plugin_utils._action import screen; print(screen.ON_TERMINAL)"


def read_on_terminal(**environment: str) -> str:
    """Return what the program prints as the leader of a terminal's session."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(
            sys.executable, [sys.executable, "-c", PROGRAM], {**os.environ, "PYTHONPATH": COLLECTIONS, **environment}
        )
    printed = b""
    try:
        while block := os.read(terminal, 1 << 12):
            printed += block
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0, printed
    return printed.decode().strip()


@pytest.mark.parametrize(
    ("callback", "expected"),
    [("default", "True"), ("awx_display", "False"), ("ansible.posix.json", "False"), ("ansible.posix.jsonl", "False")],
)
def test_only_a_person_gets_a_line_that_is_redrawn(callback: str, expected: str) -> None:
    assert read_on_terminal(ANSIBLE_STDOUT_CALLBACK=callback) == expected
