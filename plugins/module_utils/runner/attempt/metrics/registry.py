# SPDX-License-Identifier: GPL-3.0-or-later
"""Every format of a line that progress is read from, the most specific first."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...._records.frozen import frozen
from ...._records.run import Progress
from . import bars, deepspeed, huggingface, keras, lightning, megatron, nanogpt, torchtitan


@frozen
class LineFormat:
    """What a trainer prints: a line without `word` is none of it. per_rank: its speed is that of one rank."""

    name: str
    word: str
    parse: Callable[[str], Progress | None]
    per_rank: bool = False


FORMATS = (
    LineFormat("torchtitan", "loss:", torchtitan.parse, per_rank=True),
    LineFormat("megatron", "iteration ", megatron.parse),
    LineFormat("nanogpt", "loss ", nanogpt.parse),
    LineFormat("deepspeed", "step=", deepspeed.parse),
    LineFormat("huggingface", "'loss'", huggingface.parse),
    LineFormat("lightning", "Epoch ", lightning.parse),
    LineFormat("keras", "loss:", keras.parse),
    LineFormat("tqdm", "%|", bars.parse),
)
# One of these is in every line that a format takes.
WORDS = (b"loss", b"%|", b"step=", b"Epoch ")
# Colors, and what moves a cursor.
_CONTROLS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x08")


def is_candidate(line: str) -> bool:
    """Return whether a line may be of some format: most lines of a log are not."""
    # The words above, written out: this is asked of each line.
    return "loss" in line or "%|" in line or "step=" in line or "Epoch " in line


def without_controls(line: str) -> str:
    """Return the line as a terminal shows it, without colors."""
    return _CONTROLS.sub("", line) if "\x1b" in line or "\x08" in line else line
