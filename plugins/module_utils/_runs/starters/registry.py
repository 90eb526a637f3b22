# SPDX-License-Identifier: GPL-3.0-or-later
"""The starters, by the name that the plan gives."""

from __future__ import annotations

from .base import Starter, StartError
from .docker import Docker
from .setsid import Setsid
from .slurm import Slurm
from .systemd import SystemdStarter

STARTERS: dict[str, Starter] = {
    starter.name: starter
    for starter in (Setsid(), SystemdStarter(user=False), SystemdStarter(user=True), Docker(), Slurm())
}


def starter_named(name: str) -> Starter:
    """Return the starter that the plan chose."""
    if name not in STARTERS:
        raise StartError(f"starter {name!r} is not known; expected {', '.join(STARTERS)}")
    return STARTERS[name]
