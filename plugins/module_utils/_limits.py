# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of this process, which the ranks inherit. (`_limits.py` is private to the collection.)"""

from __future__ import annotations

import re

from ._host import Host
from ._records import Memlock

UNLIMITED = -1
_MEMLOCK = re.compile(r"^Max locked memory\s+(unlimited|[0-9]+)\s+(unlimited|[0-9]+)\s+bytes", re.MULTILINE)


def parse_memlock(text: str) -> Memlock | None:
    """Return the limits of locked memory in /proc/PID/limits (proc_pid_limits(5))."""
    match = _MEMLOCK.search(text)
    if not match:
        return None
    soft, hard = (UNLIMITED if value == "unlimited" else int(value) for value in match.groups())
    return Memlock(soft, hard)


def read_memlock(host: Host) -> Memlock | None:
    """Return the limits of locked memory of this process."""
    return parse_memlock(host.read_text("/proc/self/limits") or "")
