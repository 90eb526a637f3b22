# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a submission, whose nodes are not known before its job has them."""

from __future__ import annotations

from collections.abc import Mapping

from .command_line import CommandLine
from .contradictions import launch_errors
from .nodes import Inventory
from .settings import Setting


def submit_errors(settings: Mapping[str, Setting], line: CommandLine) -> list[str]:
    """Return a line for each mistake: in the launch, whatever nodes the inventory has now, and in what is its job."""
    lines = launch_errors(settings, Inventory(()))
    if not line.of_slurm:
        # In the job, the launch would start on the nodes that it names, whichever the job has.
        read = ", ".join(line.inventories) or "no inventory"
        lines.append(
            "inventory: expected one of a Slurm allocation (plugin: muster.train.slurm), "
            f"saw none (read: {read}); give -i inventories/slurm"
        )
    if all(name in settings and settings[name]["value"] is None for name in ("script", "module")):
        lines.append(
            "script: neither a script nor a module is given; "
            "give -e script=PATH or -e module=NAME, or set one in the cluster's launch_defaults"
        )
    if "nnodes" in settings and settings["nnodes"]["value"] is None:
        lines.append("nnodes: expected how many nodes the job gets, saw none; give -e nnodes=N")
    if all(name in settings and settings[name]["value"] is not None for name in ("gpus", "gres")):
        lines.append("gres: expected gpus or gres, saw both; give -e gpus=N, or -e gres=gpu:TYPE:N for a type of GPU")
    return lines
