# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of Megatron-LM and of what is made on it (training/training.py, training_log)."""

from __future__ import annotations

import re

from ...._records.run import Progress
from .numbers import COUNT, NUMBER, inverse, number

_ITERATION = re.compile(rf"\biteration {{1,12}}({COUNT})/ {{0,12}}({COUNT}) \|")
_LOSS = re.compile(rf"\| (?:lm )?loss:? {{0,9}}({NUMBER}) ?\|")
_MILLISECONDS = re.compile(rf"\belapsed time per iteration \(ms\): {{0,9}}({NUMBER}) ?\|")
_BATCH = re.compile(rf"\bglobal batch size: {{0,9}}({COUNT}) ?\|")


def parse(line: str) -> Progress | None:
    """Read `` iteration   10/  100 | … elapsed time per iteration (ms): 512.3 | … | lm loss: 1.0E+01 | …``."""
    iteration = _ITERATION.search(line)
    if iteration is None:
        return None
    loss, time, batch = (
        number(match[1]) if (match := pattern.search(line)) else None for pattern in (_LOSS, _MILLISECONDS, _BATCH)
    )
    rate = inverse(None if time is None else time / 1000)
    return Progress(
        step=int(iteration[1]),
        total_steps=int(iteration[2]),
        loss=loss,
        samples_per_s=None if batch is None or rate is None else batch * rate,
        steps_per_s=rate,
    )
