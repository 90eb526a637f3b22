# SPDX-License-Identifier: GPL-3.0-or-later
"""Keras: its bars, which count the batches of an epoch, below a line with the epoch."""

from __future__ import annotations

import re

from ...._records.run import Progress
from .numbers import COUNT, NUMBER, inverse, number

_EPOCH = re.compile(rf"Epoch ({COUNT})/({COUNT})")
# The bar of Keras 2, that of Keras 3, and the line of verbose=2.
_COUNT = re.compile(rf" {{0,9}}({COUNT})/({COUNT}) (?:\[[=>.]{{1,60}}\] |━{{1,60}} |- )")
_TIME = re.compile(rf" ({NUMBER})([mu]?s)/step ")
_LOSS = re.compile(rf" - loss: ({NUMBER})")
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def parse_epoch(line: str) -> tuple[int, int] | None:
    """Read ``Epoch 1/5``: the epoch, counted from 1, and how many there are."""
    match = _EPOCH.fullmatch(line.strip())
    return (int(match[1]), int(match[2])) if match else None


def parse(line: str) -> Progress | None:
    """Read ``123/1875 [===>…] - 1s 5ms/step - loss: 0.5``: step and total are those of the epoch."""
    count, time, loss = _COUNT.match(line), _TIME.search(line), _LOSS.search(line)
    if count is None or loss is None:
        return None
    seconds = number(time[1]) if time else None
    rate = inverse(seconds * _UNITS[time[2]]) if time and seconds is not None else None
    return Progress(step=int(count[1]), total_steps=int(count[2]), loss=number(loss[1]), steps_per_s=rate)


def of_all_epochs(progress: Progress, epoch: int, epochs: int) -> tuple[float | None, float | None]:
    """Return the step and the total of the whole training."""
    step, total = progress.step, progress.total_steps
    if step is None or total is None:
        return None, None
    return (epoch - 1) * total + step, epochs * total
