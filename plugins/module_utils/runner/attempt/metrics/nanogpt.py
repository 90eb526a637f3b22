# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of nanoGPT and of the many scripts made from it (train.py)."""

from __future__ import annotations

import re

from ...._records.run import Progress
from .numbers import COUNT, NUMBER, inverse, number

_ITERATION = re.compile(rf"iter ({COUNT}): loss ({NUMBER}), time ({NUMBER})ms\b")
_EVALUATION = re.compile(rf"step ({COUNT}): train loss ({NUMBER}), val loss {NUMBER}")


def parse(line: str) -> Progress | None:
    """Read ``iter 10: loss 2.3000, time 30.12ms, mfu 1.00%`` or ``step 250: train loss 1.9, val loss 2.1``."""
    if match := _ITERATION.match(line):
        milliseconds = number(match[3])
        rate = inverse(None if milliseconds is None else milliseconds / 1000)
        return Progress(step=int(match[1]), loss=number(match[2]), steps_per_s=rate)
    if match := _EVALUATION.match(line):
        return Progress(step=int(match[1]), loss=number(match[2]))
    return None
