# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ranks may inherit of an environment."""

from __future__ import annotations

# Of the environment in which Ansible or a container runs, what would speak to the ranks or to torchrun by accident.
FOREIGN_PREFIXES = ("ANSIBLE_", "SSH_", "PET_", "TORCHELASTIC_", "MUSTER_")
FOREIGN_NAMES = {
    *("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"),
    *("GROUP_WORLD_SIZE", "NODE_RANK", "NNODES", "NPROC_PER_NODE"),
    *("OMP_NUM_THREADS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "OLDPWD", "PWD", "_", "SHLVL"),
}


def base_environment(environ: dict[str, str]) -> dict[str, str]:
    """Return what the ranks inherit: everything but what belongs to Ansible or to another launcher."""
    return {
        name: value
        for name, value in environ.items()
        if name not in FOREIGN_NAMES and not name.startswith(FOREIGN_PREFIXES)
    }
