# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fault of the suite is, and a row of docs/faults.md."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Side by side, of rounds that mostly wait.
IDLE = 5


def never_skipped() -> str | None:
    """Return no reason: the fault can be made anywhere."""
    return None


@dataclass(frozen=True)
class Fault:
    """A fault of the suite: `make` returns the seconds from the fault to the end of the last runner, or asserts.

    times: the suite's option for the number of rounds. at_once: how many may run side by side, as they mostly wait.
    """

    name: str
    make: Callable[[Path, random.Random], float]
    bound_s: float | None = None
    times: str = "rounds"
    at_once: int = 2
    skip_reason: Callable[[], str | None] = never_skipped


@dataclass(frozen=True)
class Row:
    """A row of docs/faults.md: what happens, what Muster does, the run's verdict, and the evidence."""

    what: str
    then: str
    verdict: str
    faults: tuple[Fault, ...] = ()
    tests: tuple[str, ...] = ()  # file::test, from the checkout's root
