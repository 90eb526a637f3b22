# SPDX-License-Identifier: GPL-3.0-or-later
"""Repeating a fault, and the figures of the rounds."""

from __future__ import annotations

import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.tests.faults.row import Fault
from ansible_collections.muster.train.tests.faults.torchrun import version

IDLE = "import time; time.sleep(7200)"
# Of one kind so many tell what goes wrong.
SHOWN = 20


@dataclass
class Figure:
    """The rounds of one fault: their number, the seconds of those that ended, and what went wrong in the others."""

    fault: str
    bound_s: float | None
    rounds: int = 0
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    skipped: str | None = None

    @property
    def late(self) -> int:
        """The number of rounds that took longer than the bound."""
        return sum(self.bound_s is not None and seconds > self.bound_s for seconds in self.seconds)

    def digest(self) -> dict[str, Any]:
        """Return the figure as JSON."""
        return {
            "fault": self.fault,
            "rounds": self.rounds,
            "passed": self.rounds - len(self.wrong) - self.late,
            "median_s": round(statistics.median(self.seconds), 1) if self.seconds else None,
            "worst_s": round(max(self.seconds), 1) if self.seconds else None,
            "bound_s": self.bound_s,
            "skipped": self.skipped,
            "wrong": self.wrong[:SHOWN],
        }


def machine() -> dict[str, Any]:
    """Return the properties of the machine that the figures depend on."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "torch": version(),
    }


def measure(fault: Fault, rounds: int, seed: int, at_once: int | None = None) -> Figure:
    """Make a fault `rounds` times, every time in a new directory, with unrelated processes beside them."""
    figure = Figure(fault.name, fault.bound_s, skipped=fault.skip_reason())
    if figure.skipped:
        return figure

    def make_round(number: int) -> None:
        figure.rounds += 1
        with tempfile.TemporaryDirectory(prefix="muster-faults-") as home:
            try:
                figure.seconds.append(fault.make(Path(home), random.Random(f"{seed} {fault.name} {number}")))
            except Exception as error:
                figure.wrong.append(f"round {number}: {type(error).__name__}: {error}")

    marks = [{"MUSTER_RUN_ID": "test_run"}, {"MUSTER_RUN_ID": "test_run", "MUSTER_RUN_DIR": "/somewhere/else"}]
    strangers = [subprocess.Popen([sys.executable, "-S", "-c", IDLE], env={**os.environ, **mark}) for mark in marks]
    try:
        with ThreadPoolExecutor(at_once or fault.at_once) as pool:
            list(pool.map(make_round, range(rounds)))
        figure.wrong += ["an unrelated process was killed" for stranger in strangers if stranger.poll() is not None]
    finally:
        for stranger in strangers:
            stranger.kill()
            stranger.wait()
    return figure


HEADERS = f"{'fault':58} {'passed':>12} {'median s':>8} {'worst s':>7} {'bound s':>7}"


def line(figure: Figure) -> str:
    """Return the figure as one line of the printed table."""
    if figure.skipped:
        return f"{figure.fault:58} skipped: {figure.skipped}"
    digest = figure.digest()
    cells = [_cell(digest[name]) for name in ("median_s", "worst_s", "bound_s")]
    return f"{figure.fault:58} {digest['passed']:4} of {figure.rounds:<4} {cells[0]:>8} {cells[1]:>7} {cells[2]:>7}"


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def document(digests: Sequence[dict[str, Any]], seed: int) -> dict[str, Any]:
    """Return the digests of all figures as one JSON document."""
    return {"seed": seed, "machine": machine(), "figures": list(digests)}
