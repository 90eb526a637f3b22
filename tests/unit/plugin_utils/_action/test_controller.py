# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes as Ansible has them: a controller, and a worker that it forks. Each program here is its own controller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

PACKAGE = "ansible_collections.muster.train.plugins.plugin_utils._action"
LIMIT_S = 120
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

WORKER = f"""
import multiprocessing, os, sys, time
from {PACKAGE}.controller import end_with_controller

def work():
    os.setsid()
    end_with_controller()
    print("working", flush=True)
    time.sleep({LIMIT_S})
    print("still there", flush=True)

multiprocessing.get_context("fork").Process(target=work).start()
time.sleep({LIMIT_S})
"""

WRITER = f"""
import os, socket, sys
from {PACKAGE}.controller import end_without_reader

end_without_reader()
near, far = socket.socketpair()
far.close()
try:
    near.send(b"x")
except BrokenPipeError:
    print("a callback's connection has ended", flush=True)
sys.stdin.readline()
print("nothing reads this", flush=True)
print("a program that goes on", file=sys.stderr)
"""

PRESSED = f"""
import multiprocessing, os, signal
from {PACKAGE}.interrupt import Interrupt

def end(number, frame):
    print("the play ends", flush=True)
signal.signal(signal.SIGINT, end)
interrupt = Interrupt()
context = multiprocessing.get_context("fork")
asked, answered = context.Barrier(2), context.Barrier(2)

def work():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for _time in range(2):
        with interrupt.awaited():
            print("before", interrupt.pressed, flush=True)
            asked.wait({LIMIT_S})
            answered.wait({LIMIT_S})
            print("after", interrupt.pressed, flush=True)

worker = context.Process(target=work)
worker.start()
for times in (1, 2):
    asked.wait({LIMIT_S})
    for _press in range(times):
        os.kill(os.getpid(), signal.SIGINT)
    answered.wait({LIMIT_S})
worker.join({LIMIT_S})
os.kill(os.getpid(), signal.SIGINT)
"""


def start(program: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    argv = [sys.executable, "-c", program]
    return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=ENVIRONMENT)


@pytest.mark.slow
def test_a_worker_ends_with_its_controller() -> None:
    with start(WORKER) as controller:
        assert controller.stdout
        assert controller.stdout.readline() == "working\n"
        controller.kill()
        assert controller.stdout.read() == "", "the worker holds the pipe as long as it lives"


@pytest.mark.slow
def test_only_broken_output_ends_the_controller() -> None:
    with start(WRITER) as controller:
        assert controller.stdout
        assert controller.stdin
        assert controller.stderr
        assert controller.stdout.readline() == "a callback's connection has ended\n"
        controller.stdout.close()
        controller.stdin.write("\n")
        controller.stdin.close()
        assert controller.stderr.read() == ""
        assert controller.wait(LIMIT_S) == -signal.SIGPIPE


@pytest.mark.slow
def test_the_first_ctrl_c_is_an_answer_where_it_is_awaited() -> None:
    with start(PRESSED) as controller:
        printed, complaints = controller.communicate(timeout=LIMIT_S)
    assert (controller.returncode, complaints) == (0, "")
    once, twice = "before False\nafter True\n", "before False\nthe play ends\nafter True\n"
    assert printed == once + twice + "the play ends\n"
