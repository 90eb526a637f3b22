# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node's runner is started detached.

A system unit as root, a user unit where the user lingers, a separate session otherwise: logind may end what a user who
does not linger leaves behind (logind.conf(5), KillUserProcesses), and a unit raises the limit of locked memory.
"""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

AUTO, SETSID, SYSTEM_UNIT, USER_UNIT = "auto", "setsid", "systemd", "systemd-user"
UNITS = (SYSTEM_UNIT, USER_UNIT)
ORIGIN = "launch_starter"


@frozen
class StarterChoice:
    """A starter, the reason for it, and the one that replaces it if it fails (a systemd that accepts no units)."""

    name: str
    reason: str
    fallback: str | None = None


def choose(asked: str, facts: NodeFacts) -> StarterChoice:
    """Choose how the runner is started on a node: as requested, or as suits the node."""
    if asked == SETSID:
        return StarterChoice(SETSID, ORIGIN)
    unit, why = unit_of(facts)
    if asked != AUTO:
        return StarterChoice(unit or SYSTEM_UNIT, ORIGIN)
    return StarterChoice(unit or SETSID, f"{AUTO}: {why}", SETSID if unit else None)


def unit_of(facts: NodeFacts) -> tuple[str | None, str]:
    """Return the kind of unit that this user may start on the node, and why, or None and why not."""
    if not facts.systemd.booted:
        return None, "systemd does not run here"
    if facts.user.uid == 0:
        return SYSTEM_UNIT, "root, where systemd runs"
    if facts.systemd.linger:
        return USER_UNIT, f"{facts.user.name} has lingering enabled, where systemd runs"
    return None, f"{facts.user.name} does not have lingering enabled (loginctl enable-linger)"
