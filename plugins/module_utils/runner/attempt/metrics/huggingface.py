# SPDX-License-Identifier: GPL-3.0-or-later
"""The dictionaries that Trainer of Hugging Face's transformers and those made on it (trl) print at each logging step.

Before version 5 the values are numbers, since then strings. They have no step: that is in the bar (`bars.py`).
"""

from __future__ import annotations

import re

from ...._records.run import Progress
from .numbers import NUMBER, number

# Not eval_loss, and not train_loss of the whole training at its end.
_LOSS = re.compile(rf"[{{ ]'loss': '?({NUMBER})'?[,}}]")


def parse(line: str) -> Progress | None:
    """Read ``{'loss': '3.882', 'grad_norm': '1.107', 'learning_rate': '4.167e-05', 'epoch': '0.0625'}``."""
    text = line.strip()
    if not (text.startswith("{'") and text.endswith("}") and "'epoch': " in text):
        return None
    match = _LOSS.search(text)
    return Progress(loss=number(match[1])) if match else None
