# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node's GPUs do, as a vendor's tool says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from .frozen import frozen


@frozen
class GpuSample:
    """One GPU at one moment; utilization is a percentage.

    throttle: why it runs slower than it could, None where that is not known.
    """

    index: int
    utilization: float | None = None
    power_w: float | None = None
    clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    memory_mib: float | None = None
    memory_total_mib: float | None = None
    temperature_c: float | None = None
    throttle: list[str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is known."""
        return {name: value for name, value in vars(self).items() if value is not None}


@frozen
class GpuSource:
    """A command that prints what the GPUs do, and the parser of its output: no GPU where it has refused an option."""

    argv: Sequence[str]
    parse: Callable[[str], list[GpuSample]]
