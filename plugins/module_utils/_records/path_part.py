# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory on the way to a path, with what decides whether other users could replace what lies below it."""

from __future__ import annotations

from .frozen import frozen
from .known import Record

ROOT_OWNER = "owner root, or the user who became root by sudo"


@frozen
class PathPart(Record):
    """A directory on the way to a path: its owner and its permission bits."""

    path: str
    uid: int
    mode: int

    def describe(self) -> str:
        return f"{self.path} belongs to uid {self.uid} and has mode {self.mode:04o}"

    def danger_for(self, user: str) -> str:
        """Return what is wrong where this user runs something below it."""
        return f"{self.describe()}: another user could replace what {user} runs below it, and read launch_secrets"
