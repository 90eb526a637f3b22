# SPDX-License-Identifier: GPL-3.0-or-later
"""deepspeed: torchrun starts the ranks, with the argument and the variables that DeepSpeed's own launcher gives them.

DeepSpeed's launcher (deepspeed/launcher/launch.py) reports no failed rank and reads its place from arguments only. The
runner sets CROSS_RANK, which changes with a spare.
"""

from __future__ import annotations

from dataclasses import replace

from . import torchrun
from .base import Command, Start

# torchrun replaces this in the arguments of a rank (torch/distributed/elastic/utils/api.py, macros).
LOCAL_RANK = "${local_rank}"


def command(start: Start) -> Command:
    """Run torchrun with --local_rank as the program's first argument."""
    program = replace(start.program, arguments=(f"--local_rank={LOCAL_RANK}", *start.program.arguments))
    command = torchrun.command(replace(start, program=program))
    reason = "as DeepSpeed's launcher sets it"
    environment = {
        "CROSS_RANK": (str(start.node_rank), f"{reason}; a spare takes that of a lost node"),
        "CROSS_SIZE": (str(start.nnodes), reason),
        "LOCAL_SIZE": (str(start.nproc), reason),
    }
    return Command(command.argv, {**command.environment, **environment})
