# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""python: the program itself, one rank per node."""

from __future__ import annotations

from .base import Command, Start


def command(start: Start) -> Command:
    """Run the program directly, with the environment that torchrun would set."""
    reason = "launcher python"
    environment = {
        "RANK": str(start.first_rank),
        "LOCAL_RANK": "0",
        "WORLD_SIZE": str(start.world_size),
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": str(start.node_rank),
        "MASTER_ADDR": start.address,
        "MASTER_PORT": str(start.port),
    }
    flag = ["-m"] if start.program.kind == "module" else []
    argv = [start.python, *flag, start.program.name, *start.program.arguments]
    return Command(argv, {name: (value, reason) for name, value in environment.items()})
