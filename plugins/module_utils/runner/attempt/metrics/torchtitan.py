# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of torchtitan (components/metrics.py), whose `tps` are those of one GPU."""

from __future__ import annotations

import re

from ...._records.run import Progress
from .numbers import COUNT, NUMBER, number

_LINE = re.compile(
    rf"(?<!validate )\bstep: {{1,9}}({COUNT}) {{1,9}}loss: {{1,9}}({NUMBER}) (?:.{{0,200}}?\btps: ({NUMBER}))?"
)


def parse(line: str) -> Progress | None:
    """Read ``step: 10  loss:  8.1234  grad_norm:  1.2  memory:  0.5GiB(1.2%)  tps: 1,234  tflops: 0.1  mfu: 0.1%``."""
    match = _LINE.search(line)
    if match is None:
        return None
    return Progress(step=int(match[1]), loss=number(match[2]), tokens_per_s=number(match[3]))
