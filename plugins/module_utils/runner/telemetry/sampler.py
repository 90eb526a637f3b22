# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that samples a node while its ranks run: its tools may hang, its storage may stand still.

It ends with the runner, and takes its tools along.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Any

from .counters import HostReader
from .gpus import GpuReader
from .samples import SampleFile

# The first samples are closer together, so that a run of seconds has some, too.
FIRST_PAUSE_S = 1.0
# The ranks come first.
NICE = 10


def main(argv: list[str]) -> None:
    """Sample until the end: PATH of the file, and the seconds between two samples."""
    signal.signal(signal.SIGTERM, _end_group)
    os.nice(NICE)
    path, interval = argv[0], float(argv[1])
    sample_for_ever(SampleFile(path), HostReader(), GpuReader(), interval)


def sample_for_ever(file: SampleFile, host: HostReader, gpus: GpuReader, interval: float) -> None:
    """Write a sample after each pause, which grows to the interval."""
    pause = min(FIRST_PAUSE_S, interval)
    while True:
        began = time.monotonic()
        line: dict[str, Any] = {"time": round(time.time(), 1), **host.read(began)}
        if known := gpus.read():
            line["gpus"] = [gpu.to_dict() for gpu in known]
        if note := gpus.take_note():
            line["note"] = note
        with contextlib.suppress(OSError):  # a full disk costs this sample
            if file.append(line):
                interval *= 2
        time.sleep(max(0.0, pause - (time.monotonic() - began)))
        pause = min(2 * pause, interval)


def _end_group(_number: int, _frame: object) -> None:
    os.killpg(0, signal.SIGKILL)
