# SPDX-License-Identifier: GPL-3.0-or-later
"""The parent of Apptainer: it ends as its command does, and with it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.attempt import guard

RUN = f"""
import os, signal, subprocess, sys
sys.path[:0] = {sys.path!r}
from {guard.__name__} import main
if sys.argv[1] == "early":
    begin = subprocess.Popen
    def begin_late(*arguments, **options):
        child = begin(*arguments, **options)
        os.kill(os.getpid(), signal.SIGTERM)
        return child
    subprocess.Popen = begin_late
main(sys.argv[2:])
"""


def run(when: str, *command: str) -> int:
    """Return how the guard ends; what it leaves behind keeps its output open, and this waits for that."""
    argv = [sys.executable, "-c", RUN, when, *command]
    return subprocess.run(argv, stdout=subprocess.PIPE, timeout=30, check=False).returncode


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -KILL $$", -9), ("kill -TERM $$", -15)])
def test_it_ends_as_its_command_does(script: str, code: int) -> None:
    assert run("never", "sh", "-c", script) == code


def test_a_signal_at_the_start_ends_the_command_too() -> None:
    assert run("early", "sh", "-c", "exec sleep 60") == -signal.SIGTERM
