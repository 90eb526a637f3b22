# SPDX-License-Identifier: GPL-3.0-or-later
"""How a runner ended according to systemd, for a runner that could not record it itself."""

from __future__ import annotations

import os

from .._records.run import UnitEnd


def unit_path(run_dir: str, nonce: str) -> str:
    """Return the file with the result of the unit of one launch."""
    return os.path.join(run_dir, f"unit.{nonce}.json")


def explain(unit: UnitEnd) -> str | None:
    """Return how the runner ended in words, None where systemd recorded nothing."""
    result, code, status = unit.service_result, unit.exit_code, unit.exit_status or ""
    if not result:
        return None
    if result == "oom-kill":
        return "the kernel ran out of memory and killed a process of its unit (oom-kill)"
    if result == "timeout":
        return "systemd killed it after a timeout"
    if code in ("killed", "dumped"):
        name = status if status.startswith("SIG") else f"SIG{status}"
        return f"killed by {name}" + (" and dumped core" if code == "dumped" else "")
    return f"it exited with code {status}" if code == "exited" else f"systemd reports {result}"
