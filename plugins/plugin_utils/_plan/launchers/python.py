# SPDX-License-Identifier: GPL-3.0-or-later
"""python: the program itself, one rank per node."""

from __future__ import annotations

from .base import Command, Start, python_command


def command(start: Start) -> Command:
    """Run the program directly, with the environment that torchrun would set."""
    reason = "launcher python"
    environment = {
        "RANK": str(start.first_rank),
        "LOCAL_RANK": "0",
        "WORLD_SIZE": str(start.world_size),
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": str(start.node_rank),
        "GROUP_WORLD_SIZE": str(start.nnodes),
        "NODE_RANK": str(start.node_rank),
        "NNODES": str(start.nnodes),
        "MASTER_ADDR": start.address,
        "MASTER_PORT": str(start.port),
    }
    return Command(
        [*start.wrapper, *python_command(start)], {name: (value, reason) for name, value in environment.items()}
    )
