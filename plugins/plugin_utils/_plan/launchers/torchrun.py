# SPDX-License-Identifier: GPL-3.0-or-later
"""torchrun: one agent per node, which starts the node's ranks."""

from __future__ import annotations

from .base import Command, Start, python_command

# How long agents wait for each other; importing torch from a cold network file system takes long.
MEET_SECONDS = 300


def command(start: Start) -> Command:
    """Run torchrun with static rendezvous: rank order is inventory order, and Muster restarts the ranks.

    The endpoint and the node rank are not arguments, because they change with an attempt or a spare; torchrun reads
    PET_* for missing options (torch/distributed/argparse_util.py).
    """
    address = f"[{start.address}]" if ":" in start.address else start.address
    argv = [
        start.python,
        f"{start.run_dir}/torchrun.py",
        f"--nnodes={start.nnodes}",
        f"--nproc-per-node={start.nproc}",
        "--rdzv-backend=static",
        f"--rdzv-id={start.run_id}",
        f"--rdzv-conf=timeout={MEET_SECONDS}",
        f"--log-dir={start.run_dir}/errors",
        "--max-restarts=0",
        *start.options,
        *program_words(start),
    ]
    environment = {
        "PET_NODE_RANK": (str(start.node_rank), "a spare takes that of a lost node"),
        "NODE_RANK": (str(start.node_rank), "torchrun sets GROUP_RANK only"),
        "NNODES": (str(start.nnodes), "torchrun does not set it"),
        "PET_RDZV_ENDPOINT": (f"{address}:{start.port}", "where the ranks connect; a restart takes the next port"),
    }
    return Command(argv, environment)


def program_words(start: Start) -> list[str]:
    """Return the program at the end of the command line, behind the profiler if there is one."""
    if start.wrapper:
        # As torchrun itself starts Python: unbuffered. Accelerate before 0.28 does not know --no-python.
        return ["--no_python", *start.wrapper, *python_command(start, "-u")]
    module = ["--module"] if start.program.kind == "module" else []
    return [*module, start.program.name, *start.program.arguments]
