# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's clock, and the controller's at the time of the request."""

from __future__ import annotations

from .._host.live import LiveHost
from .._records.health import Clock

# systemd-timesyncd(8) makes it once the clock was set by a server.
TIMESYNC = "/run/systemd/timesync/synchronized"


def read_clock(host: LiveHost, asked: float | None) -> Clock | None:
    """Return the clock, None for another root: a tree has none. Where the kernel does not know, timesyncd may."""
    if host.live is None:
        return None
    wall = host.live.now()
    synchronized = host.live.clock_synchronized()
    if synchronized is not None:
        return Clock(wall, asked, synchronized, "adjtimex")
    if host.exists(TIMESYNC):
        return Clock(wall, asked, True, TIMESYNC)
    return Clock(wall, asked)
