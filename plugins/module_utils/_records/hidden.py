# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that a user cannot see, because their directory is another user's."""

from __future__ import annotations

from .document import Document
from .frozen import frozen


@frozen
class HiddenRuns(Document):
    """A directory on the way to a node's runs, its owner, and the user who cannot read it."""

    path: str | None = None
    owner: str | None = None
    user: str | None = None

    def describe(self) -> str:
        return f"{self.path} belongs to {self.owner}, and {self.user} cannot read it"
