# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""torchrun: one agent per node that starts its ranks."""

from __future__ import annotations

from .base import Command, Start

# How far apart the agents may begin (importing torch from a cold network file system) before they give each other up.
MEET_SECONDS = 300


def command(start: Start) -> Command:
    """Run torchrun with static rendezvous: rank order is inventory order, and restarts are not torchrun's.

    The endpoint and the node rank are no arguments: each attempt has a port of its own, a spare takes another's rank,
    and torchrun reads PET_* where an option is missing (torch/distributed/argparse_util.py).
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
    ]
    if start.program.kind == "module":
        argv.append("--module")
    environment = {
        "PET_NODE_RANK": (str(start.node_rank), "a spare takes that of a lost node"),
        "PET_RDZV_ENDPOINT": (f"{address}:{start.port}", "where the ranks meet; a restart takes the next port"),
    }
    return Command([*argv, start.program.name, *start.program.arguments], environment)
