# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run leaves on a node when its files are collected."""

from __future__ import annotations

from .document import Document
from .frozen import field, frozen


@frozen
class RemainingFile(Document):
    """A file that stays on the node: its path below the run directory, its size in bytes."""

    path: str | None = None
    size: int = 0


@frozen
class RemainingFiles(Document):
    """Outputs that are not collected: those whose names are excluded, and those beyond the limit, the largest named.

    uncounted: there are more excluded files than were counted.
    """

    excluded: int = 0
    excluded_bytes: int = 0
    uncounted: bool = False
    large: int = 0
    large_bytes: int = 0
    largest: list[RemainingFile] = field(default_factory=list)
