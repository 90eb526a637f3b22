# SPDX-License-Identifier: GPL-3.0-or-later
"""accelerate: torchrun starts the ranks, with the program and the environment that accelerate launch gives it.

So ranks are ordered, restarted and reported as torchrun's. On the node `runner/attempt/torchrun.py` adds what an
attempt or a spare changes, and a configuration file, because otherwise a default_config.yaml of the user would count.
"""

from __future__ import annotations

from dataclasses import replace

from . import torchrun
from .base import ACCELERATE, Command, Program, Start


def command(start: Start) -> Command:
    """Run accelerate launch by the program that also runs torchrun; --num_processes counts the ranks of all nodes."""
    options = [
        f"--num_machines={start.nnodes}",
        f"--num_processes={start.world_size}",
        # As the launch gives them to the ranks, whatever a configuration file says.
        "--gpu_ids=all",
        # Of DeepSpeed's ways to start ranks on several nodes, the one without ssh.
        "--deepspeed_multinode_launcher=standard",
        *start.options,
    ]
    launch = Program("module", ACCELERATE, (*options, *torchrun.program_words(start)))
    command = torchrun.command(replace(start, program=launch, options=(), wrapper=()))
    # Without it each rank would train alone: accelerate looks for GPUs only by default.
    on_cpu = {} if start.has_gpu else {"ACCELERATE_USE_CPU": ("true", "the node has no GPU")}
    return replace(command, defaults=on_cpu)
