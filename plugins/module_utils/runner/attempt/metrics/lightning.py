# SPDX-License-Identifier: GPL-3.0-or-later
"""Lightning: its progress bars (tqdm's and rich's), which count the batches of an epoch, and CSVLogger's file."""

from __future__ import annotations

import csv
import re

from ...._records.run import Progress
from .bars import BAR, rate_of
from .numbers import COUNT, NUMBER, loss_of, number, postfix_loss

_TQDM = re.compile(rf"Epoch (?P<epoch>{COUNT}): {{1,9}}{BAR}")
_RICH = re.compile(
    rf"Epoch (?P<epoch>{COUNT})/(?P<last>{COUNT}) {{1,9}}[━╸╺ ]{{1,400}}(?P<step>{COUNT})/(?P<total>{COUNT}) "
    rf"[0-9:]{{4,12}} • [-0-9:]{{4,12}} (?P<rate>{NUMBER})it/s"
)


def parse(line: str) -> Progress | None:
    """Read ``Epoch 1:  94%|███▉| 15/16 [00:00<00:00, 243.9it/s, train_loss=0.1]`` or ``Epoch 1/2 ━━━ 15/16 …``."""
    if match := _TQDM.match(line):
        step = int(match["epoch"]) * int(match["total"]) + int(match["step"])
        return Progress(step=step, loss=postfix_loss(match["more"]), steps_per_s=rate_of(match))
    if match := _RICH.match(line):
        batches = int(match["total"])
        return Progress(
            step=int(match["epoch"]) * batches + int(match["step"]),
            total_steps=(int(match["last"]) + 1) * batches,
            steps_per_s=number(match["rate"]),
        )
    return None


def parse_csv(header: str, rows: str) -> Progress | None:
    """Read the last row with a loss from the header and the last rows of metrics.csv; the last may be half written.

    Lightning numbers steps from 0.
    """
    try:
        names = [name.strip().lower() for name in next(csv.reader([header]), [])]
        lines = list(csv.reader(rows.split("\n")[:-1]))
    except csv.Error:
        return None
    if "step" not in names:
        return None
    for cells in reversed(lines):
        if len(cells) == len(names):
            values = {name: value for name, cell in zip(names, cells) if (value := number(cell)) is not None}
            loss, step = loss_of(values), values.get("step")
            if loss is not None and step is not None:
                return Progress(step=step + 1, loss=loss)
    return None
