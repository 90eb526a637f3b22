# SPDX-License-Identifier: GPL-3.0-or-later
"""The time by which a run is old: its file system's own, as long as no other clock contradicts it.

A server's clock may differ from the node's, and a node without a battery boots in 1970 or in the future.
"""

from __future__ import annotations

import contextlib
import os

from .._host.host import Host
from ..runner import files

# Beyond this, two clocks are not merely inaccurate.
APART_S = 3600.0
DAY_S, HOUR_S = 86400.0, 3600.0


def read_stamp(host: Host, directory: str) -> float | None:
    """Return the time that a file gets there now, None where none can be written; the file is removed again."""
    path = host.here(os.path.join(directory, f".clock.{os.getpid()}"))
    try:
        descriptor = files.create(path, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, b"\n")  # a server stamps what it is given
            return os.fstat(descriptor).st_mtime
        finally:
            os.close(descriptor)
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def contradiction(stamp: float | None, clock: float, controller: float | None, newest: float | None) -> str | None:
    """Return why the file system's time (stamp) cannot be believed, None where it can.

    clock and controller are the times of the node and of the controller, newest that of the newest file (unix seconds).
    """
    if stamp is None:
        return "no file could be written beside it, so its file system's time is not known"
    for name, other in (("the node's clock", clock), ("the controller's clock", controller)):
        if other is not None and abs(stamp - other) > APART_S:
            return f"its file system's time is {_apart(stamp - other)} {name}: one of them is wrong"
    if newest is not None and newest - stamp > APART_S:
        return f"its file system's time is {_apart(stamp - newest)} its newest run: the clock was set back"
    return None


def _apart(seconds: float) -> str:
    size = abs(seconds)
    amount = f"{size / DAY_S:.1f} days" if size >= DAY_S else f"{size / HOUR_S:.1f} hours"
    return f"{amount} {'ahead of' if seconds > 0 else 'behind'}"
