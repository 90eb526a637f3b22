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

# A step of Slurm describes itself, which programs take for their own place among the ranks; these describe the job.
OF_STEP = ("SLURM_", "PMI")
OF_SLURM_JOB = {
    *("SLURM_CONF", "SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SLURM_JOB_PARTITION"),
    *("SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_RESTART_COUNT"),
    *("SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME", "SLURM_TMPDIR", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"),
}


def base_environment(environ: dict[str, str]) -> dict[str, str]:
    """Return what the ranks inherit: everything but what belongs to Ansible or to another launcher."""
    return {
        name: value
        for name, value in environ.items()
        if name in OF_SLURM_JOB or (name not in FOREIGN_NAMES and not name.startswith((*FOREIGN_PREFIXES, *OF_STEP)))
    }
