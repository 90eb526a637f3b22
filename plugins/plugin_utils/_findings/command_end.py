# SPDX-License-Identifier: GPL-3.0-or-later
"""How a command of the controller has ended, for functions that read it without running commands themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class CommandEnd(Protocol):
    """How a command of the controller has ended."""

    @property
    def rc(self) -> int | None: ...

    @property
    def out(self) -> str: ...

    @property
    def missing(self) -> bool: ...

    def why(self, timeout_s: float) -> str:
        """Return in one line why the command failed."""


# Runs a command for so many seconds at most.
RunLimited = Callable[[Sequence[str], float], CommandEnd]
