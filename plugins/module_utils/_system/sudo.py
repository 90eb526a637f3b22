# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether this user can become root without a password."""

from __future__ import annotations

from .._host.host import Host
from .._records.health import Sudo

COMMAND = ("sudo", "-n", "true")
TIMEOUT_S = 5.0


def read_sudo(host: Host) -> Sudo | None:
    """Return sudo's answer, None below another root, which has other users."""
    if not host.is_live:
        return None
    if host.user_id() == 0:
        return Sudo(True, "this user is root")
    result = host.run(COMMAND, TIMEOUT_S)
    if result.rc == 0:
        return Sudo(True)
    return Sudo(None if result.timed_out else False, f"{' '.join(COMMAND)}: {result.why(TIMEOUT_S)}")
