# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory a container may lock if nobody says otherwise.

The engine's own default, else what containerd, which starts them, has itself. A file may have been written after the
engine was started: what a container has is in its own /proc/self/limits.
"""

from __future__ import annotations

import json
import re

from ._host import Host
from ._limits import parse_memlock

DAEMON = "/etc/docker/daemon.json"
STARTERS = ("containerd", "dockerd")


def parse_daemon(text: str) -> int | None:
    """Return the soft limit in daemon.json's default-ulimits, -1 for unlimited."""
    try:
        soft = json.loads(text)["default-ulimits"]["memlock"]["Soft"]
    except (ValueError, RecursionError, KeyError, TypeError, IndexError):
        return None
    return soft if isinstance(soft, int) and not isinstance(soft, bool) and soft >= -1 else None


def default_memlock(host: Host) -> tuple[int | None, str | None]:
    """Return the limit in bytes (-1: unlimited), and what said so."""
    limit = parse_daemon(host.read_text(DAEMON, 1024 * 1024) or "")
    if limit is not None:
        return limit, DAEMON
    pids = [name for name in host.list_dir("/proc") or [] if re.fullmatch("[0-9]{1,10}", name, re.ASCII)]
    names = {pid: (host.read_text(f"/proc/{pid}/comm", 64) or "").strip() for pid in pids}
    for starter in STARTERS:
        for pid in (pid for pid, name in names.items() if name == starter):
            found = parse_memlock(host.read_text(f"/proc/{pid}/limits", 65536) or "")
            if found is not None and found.soft is not None:
                return found.soft, f"/proc/{pid}/limits of {starter}"
    return None, None
