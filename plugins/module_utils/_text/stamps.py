# SPDX-License-Identifier: GPL-3.0-or-later
"""UTC times as text, in one form wherever Muster writes or reads them: 2026-11-20T14:30:52Z."""

from __future__ import annotations

import time
from datetime import datetime, timezone

FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def utc(seconds: float | None = None) -> str:
    """Return unix seconds (default: now) as a UTC time."""
    return time.strftime(FORMAT, time.gmtime(seconds))


def seconds_of(stamp: object) -> float | None:
    """Return the unix seconds of a UTC time, None for anything else."""
    try:
        return datetime.strptime(stamp, FORMAT).replace(tzinfo=timezone.utc).timestamp()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
