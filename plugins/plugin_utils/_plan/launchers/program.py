# SPDX-License-Identifier: GPL-3.0-or-later
"""exec: the program itself, once per node; it starts the node's ranks, or starts what starts them."""

from __future__ import annotations

from ..._cluster.script import EXEC, is_python
from .base import Command, Start, python_command


def command(start: Start) -> Command:
    """Run the program without any variable of a rank: with one, a launcher takes itself for a rank."""
    reason = f"launcher {EXEC}"
    environment = {
        "NODE_RANK": str(start.node_rank),
        "NNODES": str(start.nnodes),
        "GROUP_RANK": str(start.node_rank),
        "GROUP_WORLD_SIZE": str(start.nnodes),
        "NPROC_PER_NODE": str(start.nproc),
        "MASTER_ADDR": start.address,
        "MASTER_PORT": str(start.port),
        "MUSTER_PYTHON": start.python,
    }
    program = start.program
    is_own = program.kind == "script" and not is_python(program.name)
    argv = [program.name, *program.arguments] if is_own else python_command(start)
    return Command(argv, {name: (value, reason) for name, value in environment.items()})
