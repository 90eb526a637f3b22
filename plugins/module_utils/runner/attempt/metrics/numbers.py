# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers in the text of a trainer."""

from __future__ import annotations

import re

# Of one number; `1,234` is how torchtitan prints thousands.
NUMBER = r"[-+]?(?:[0-9][0-9,]{0,20}(?:\.[0-9]{0,20})?(?:[eE][-+]?[0-9]{1,3})?|nan|NaN|inf|Infinity)"
COUNT = r"[0-9]{1,12}"
# The names under which trainers report the loss of the training, the most general first.
LOSSES = (
    *("loss", "train_loss", "train/loss", "training_loss", "training/loss", "loss/train", "lm loss", "lm_loss"),
    *("train_loss_step", "train/loss_step", "loss_step", "train_loss_epoch", "train/total_loss"),
    *("loss_metrics/global_avg_loss", "train/lm_loss", "train/samples/train_loss", "batch_loss", "epoch_loss"),
)
_POSTFIX = re.compile(rf"[ ,]([A-Za-z_/]{{1,40}})=({NUMBER})(?=[,\] ]|$)")


def number(text: str | None) -> float | None:
    """Return the number of a text, None for anything else."""
    try:
        return None if text is None else float(text.replace(",", ""))
    except ValueError:
        return None


def inverse(seconds: float | None) -> float | None:
    """Return how often something happens in a second that takes so many seconds, None where that is not known."""
    return 1 / seconds if seconds is not None and seconds > 0 else None


def loss_of(values: dict[str, float]) -> float | None:
    """Return the loss of the training among values by their lower-case names."""
    return next((values[name] for name in LOSSES if name in values), None)


def postfix_loss(text: str) -> float | None:
    """Return the loss that stands behind a progress bar: ``, v_num=1, train_loss=0.25``."""
    values = {name.lower(): number(value) for name, value in _POSTFIX.findall(text)}
    return loss_of({name: value for name, value in values.items() if value is not None})
