# SPDX-License-Identifier: GPL-3.0-or-later
"""The output and the end of the controller's processes: Ansible's main process, and the workers it forks for tasks.

A worker has a session of its own, so that nothing ends it with the controller. And the controller's thread that prints
for workers ends with the first write that fails, after which the controller waits for it forever.
"""

from __future__ import annotations

import functools
import io
import multiprocessing
import os
import select
import shutil
import signal
import sys
import threading
import time
from types import FrameType

from ansible import constants

LOOK_S = 1.0
# The descriptors of the standard output and the standard error.
OUTPUTS = [1, 2]


def is_controller() -> bool:
    """Whether this is Ansible's main process, where signals can be handled."""
    return multiprocessing.parent_process() is None and threading.current_thread() is threading.main_thread()


def print_lines_at_once() -> None:
    """Let a file or pipe get each line when it is printed: Ansible does not flush, and Python keeps 8 KiB back."""
    if is_controller() and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def end_without_reader() -> None:
    """Let the controller end as other programs do when what reads its output has gone, as in `… | head`."""
    if is_controller() and signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN:
        signal.signal(signal.SIGPIPE, _on_broken_pipe)


def tell_controller_without_reader() -> None:
    """Let the controller of this worker end, which has not noticed that what reads its output has gone."""
    controller = multiprocessing.parent_process()
    if controller is not None and controller.pid is not None:
        os.kill(controller.pid, signal.SIGPIPE)


@functools.cache
def end_with_controller() -> None:
    """Let this worker, and the commands that it runs, end soon after the controller has gone."""
    controller = multiprocessing.parent_process()
    if controller is not None:
        threading.Thread(target=_watch, args=(controller.pid,), daemon=True).start()


def _on_broken_pipe(_signal: int, _frame: FrameType | None) -> None:
    # A worker inherits the handler, and a connection's or callback's pipe is their own affair.
    if not is_controller() or not _is_output_broken():
        return
    workers = multiprocessing.active_children()
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(LOOK_S)
    # No unwinding: it would write to a queue that nothing reads any more.
    shutil.rmtree(vars(constants)["DEFAULT_LOCAL_TMP"], ignore_errors=True)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)


def _is_output_broken() -> bool:
    poll = select.poll()
    for descriptor in OUTPUTS:
        poll.register(descriptor, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _descriptor, events in poll.poll(0))


def _watch(controller: int) -> None:
    while os.getppid() == controller:
        time.sleep(LOOK_S)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGTERM)
    os._exit(1)
