# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of DeepSpeed's engine at each `steps_per_print` (runtime/engine.py, utils/timer.py)."""

from __future__ import annotations

import re

from ...._records.run import Progress
from .numbers import COUNT, NUMBER, number

_STEP = re.compile(rf"\bstep=({COUNT}), skipped={COUNT}, lr=")
_SPEED = re.compile(rf"\bglobal_step=({COUNT}), RunningAvgSamplesPerSec=({NUMBER})")


def parse(line: str) -> Progress | None:
    """Read ``step=10, skipped=0, lr=[0.1], mom=[…]`` or ``…global_step=10, RunningAvgSamplesPerSec=1980.3, …``."""
    if match := _STEP.search(line):
        return Progress(step=int(match[1]))
    if match := _SPEED.search(line):
        return Progress(step=int(match[1]), samples_per_s=number(match[2]))
    return None
