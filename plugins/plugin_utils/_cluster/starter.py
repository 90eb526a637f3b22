# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node's runner is started detached.

A system unit as root, a user unit where the user lingers, a separate session otherwise: logind may end what a user who
does not linger leaves behind (logind.conf(5), KillUserProcesses), and a unit raises the limit of locked memory. In a
step of a Slurm job all of these end with the step, or leave the job: there the runners are a step of their own.
"""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .node import Node

AUTO, SETSID, SYSTEM_UNIT, USER_UNIT, DOCKER = "auto", "setsid", "systemd", "systemd-user", "docker"
SLURM = "slurm"
ORIGIN = "launch_starter"


@frozen
class StarterKind:
    """What a run is like that a starter started; the starter of this name is in `module_utils/_runs/starters/`.

    is_asked_for: `launch_starter` may name it. is_unit: a unit of systemd, which raises the limit of locked memory.
    in_session: logind may end the run with the login's session. keeps_container: a container stays after the run.
    """

    name: str
    is_asked_for: bool = False
    is_unit: bool = False
    in_session: bool = False
    keeps_container: bool = False


STARTERS = {
    kind.name: kind
    for kind in (
        StarterKind(SETSID, is_asked_for=True, in_session=True),
        StarterKind(SYSTEM_UNIT, is_asked_for=True, is_unit=True),
        StarterKind(USER_UNIT, is_unit=True),
        StarterKind(DOCKER, keeps_container=True),
        StarterKind(SLURM, is_asked_for=True),
    )
}
# What a run of another version's starter is like.
UNKNOWN = StarterKind("unknown")
CHOICES = (AUTO, *(kind.name for kind in STARTERS.values() if kind.is_asked_for))


@frozen
class StarterChoice:
    """A starter, the reason for it, and the one that replaces it if it fails (a systemd that accepts no units)."""

    name: str
    reason: str
    fallback: str | None = None


def choose(asked: str, node: Node) -> StarterChoice:
    """Choose how the runner is started on a node: as requested, or as suits the node."""
    facts = node.facts
    unit, why = unit_of(facts)
    if asked != AUTO:
        return StarterChoice(unit or SYSTEM_UNIT if STARTERS[asked].is_unit else asked, ORIGIN)
    if facts.slurm is not None:
        if node.is_in_step:
            return StarterChoice(SLURM, f"{AUTO}: steps of the Slurm job {facts.slurm.job} end what they start")
        return StarterChoice(
            SETSID, f"{AUTO}: this session is a part of the Slurm job {facts.slurm.job}, and ends with it"
        )
    return StarterChoice(unit or SETSID, f"{AUTO}: {why}", SETSID if unit else None)


def kind_of(run_starter: str | None) -> StarterKind:
    """Return the kind of starter that a run's record names."""
    return STARTERS.get(str(run_starter), UNKNOWN)


def unit_of(facts: NodeFacts) -> tuple[str | None, str]:
    """Return the kind of unit that this user may start on the node, and why, or None and why not."""
    if not facts.systemd.booted:
        return None, "systemd does not run here"
    if facts.user.uid == 0:
        return SYSTEM_UNIT, "root, where systemd runs"
    if facts.systemd.linger:
        return USER_UNIT, f"{facts.user.name} has lingering enabled, where systemd runs"
    return None, f"{facts.user.name} does not have lingering enabled (loginctl enable-linger)"
