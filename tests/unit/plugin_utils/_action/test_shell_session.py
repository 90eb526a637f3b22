# SPDX-License-Identifier: GPL-3.0-or-later
"""A shell for many commands: each has its outputs and exit code, and one that ends says why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.plugin_utils._action.shell_session import SessionEnded, ShellSession


@pytest.fixture
def session() -> Iterator[ShellSession]:
    started = ShellSession(["/bin/sh"])
    yield started
    started.end()


def test_commands_run_one_after_the_other(session: ShellSession) -> None:
    assert session.run("echo out; echo error >&2; exit 3") == (3, b"out\n", b"error\n")
    assert session.run("cat; printf %s end") == (0, b"end", b"")
    assert session.run("cd /\npwd # a comment") == (0, b"/\n", b"")
    code, out, error = session.run("head -c 3000000 /dev/zero; head -c 200000 /dev/zero >&2")
    assert (code, out, error) == (0, bytes(3000000), bytes(200000))


def test_a_shell_that_ends_says_why() -> None:
    # Its output closes before its reason is there.
    session = ShellSession(["/bin/sh", "-c", "exec >&-; sleep 0.1; echo no such job >&2; exit 1"])
    with pytest.raises(SessionEnded, match="no such job"):
        session.run("true")
    session.end()


def test_the_end_of_the_session_ends_the_shell() -> None:
    session = ShellSession(["/bin/sh"])
    _code, shell, _error = session.run("echo $$")
    session.end()
    assert process_tree.look(int(shell)) is None
    with pytest.raises((SessionEnded, ValueError)):
        session.run("true")
