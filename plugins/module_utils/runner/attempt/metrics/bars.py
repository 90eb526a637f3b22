# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress bars of tqdm, which Hugging Face's Trainer shows without a description."""

from __future__ import annotations

import re

from ...._records.run import Progress
from .numbers import COUNT, NUMBER, inverse, number, postfix_loss

# From the percentage on: count, total, elapsed<left, rate, and what the program adds.
BAR = (
    rf"[0-9]{{1,3}}%\|[^|]{{0,200}}\| {{0,9}}(?P<step>{COUNT})/(?P<total>{COUNT}) "
    rf"\[[0-9:]{{4,12}}<[0-9:?]{{1,12}}, {{1,9}}"
    rf"(?:\?|(?P<rate>{NUMBER}))(?P<unit>it/s|s/it|steps?/s|s/step|batch(?:es)?/s|s/batch)(?P<more>[^\]]{{0,500}})\]"
)
# A bar with another description counts something else: shards, files, a validation.
_TRAINING = re.compile(rf" {{0,9}}(?:(?:train(?:ing)?|steps?|iter(?:ation)?s?):? {{1,9}})?{BAR}", re.IGNORECASE)


def rate_of(match: re.Match[str]) -> float | None:
    """Return the steps per second of a bar."""
    rate = number(match["rate"])
    return inverse(rate) if match["unit"].startswith("s/") else rate


def parse(line: str) -> Progress | None:
    """Read `` 12%|█▏        | 3/25 [00:01<00:08,  2.60it/s, loss=0.5]``."""
    match = _TRAINING.match(line)
    if match is None:
        return None
    return Progress(
        step=int(match["step"]),
        total_steps=int(match["total"]),
        loss=postfix_loss(match["more"]),
        steps_per_s=rate_of(match),
    )
