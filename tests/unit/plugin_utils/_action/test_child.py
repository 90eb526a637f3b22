# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the commands that an action starts; a script stands in for ansible-playbook."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._action import child
from ansible_collections.muster.train.plugins.plugin_utils._action.child import ChildCommand


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ansible-playbook"
    monkeypatch.setattr(sys, "argv", [str(path)])
    return path


def command(program: Path, script: str, *words: str) -> ChildCommand:
    program.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\n{script}\n")
    program.chmod(0o700)
    return ChildCommand(words, {**os.environ, "MINE": "1"}, program.parent / "child.log")


def test_it_has_the_lines_the_exit_code_and_a_private_log(program: Path) -> None:
    script = "print(sys.argv[1:], os.environ['MINE'], flush=True); print('to people', file=sys.stderr); sys.exit(3)"
    with command(program, script, "-i", "two words") as started:
        assert started.text() == "['-i', 'two words'] 1\n"
        assert started.code == 3
    log = program.parent / "child.log"
    assert log.read_text() == "\n# -i 'two words'\nto people\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_caller_is_asked_between_lines(program: Path) -> None:
    with command(program, "time.sleep(0.7); print('late')") as started:
        lines = list(started.lines())
    assert lines[-1] == "late\n"
    assert lines[:-1] == [None] * len(lines[:-1])
    assert len(lines) > 1


def test_an_interrupt_is_that_of_a_terminal(program: Path) -> None:
    script = "try:\n    print('up', flush=True)\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    sys.exit(99)"
    # A shell lets what it starts in the background ignore Ctrl-C; Ansible's own process never does.
    with command(program, f"signal.signal(signal.SIGINT, signal.default_int_handler)\n{script}") as started:
        for line in started.lines():
            if line:
                started.interrupt()
        assert started.code == 99


@pytest.mark.parametrize(("script", "code"), [("", -15), ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", -9)])
def test_leaving_it_ends_it(program: Path, script: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "END_S", 0.5)
    with command(program, f"{script}\nprint('up', flush=True); time.sleep(60)") as started:
        next(line for line in started.lines() if line)
    assert started.code == code
