# SPDX-License-Identifier: GPL-3.0-or-later
"""How much a failure looks like the cause of a run's end; `cause` judges it."""

from __future__ import annotations

import enum


class Likeness(enum.IntEnum):
    """How much a failure looks like the cause of the others; lower is more."""

    OWN = 0  # nothing in it speaks of another rank
    LOST = 1  # a runner that died silently, and its ranks with it
    SILENT = 2  # a node that does not answer
    UNCLEAR = 3  # a signal that NCCL or an operator sends, a connection that may be anybody's
    PEER = 4  # a collective or the store lost its other end
    ENDED = 5  # torchrun ends the other ranks of a node when one fails


def read_likeness(value: int | None) -> Likeness:
    """Return the likeness that a document has, UNCLEAR where it has none."""
    return Likeness(value) if value in list(Likeness) else Likeness.UNCLEAR
