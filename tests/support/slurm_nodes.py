# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of an allocation as a cluster of a test: its inventory asks Slurm, and its verbs are typed on the head."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.play import ROOT
from ansible_collections.muster.train.tests.support.slurm_cluster import HEAD, NODES, SlurmCluster

# Ranks that write metrics for a minute unless a test ends them.
LONG = {"script_args": ["--seconds", "60"]}


@dataclass
class SlurmNodes(Cluster):
    """The nodes of a job of a Slurm cluster; place is where the commands are typed."""

    slurm: SlurmCluster = field(kw_only=True)
    job: str = field(kw_only=True)
    place: str = HEAD

    def __post_init__(self) -> None:
        self.names = list(NODES)
        super().__post_init__()

    @property
    def inventory(self) -> Path:
        return self.home / "slurm"

    def write(self) -> None:
        (self.inventory / "group_vars").mkdir(parents=True, exist_ok=True)
        policy = {**self.policy, "launch_defaults": {"script": "sleeper.py", "nproc": 2}}
        for name in ("ansible_connection", "launch_head_address"):
            del policy[name]
        (self.inventory / "slurm.yml").write_text("plugin: muster.train.slurm\n")
        (self.inventory / "group_vars" / "nodes.yml").write_text(yaml.safe_dump(policy))

    def command(self, playbook: str, *extra: str) -> list[str]:
        return [*self.slurm.inside(self.place, ROOT), *super().command(playbook, *extra)]

    def environment(self, **more: str) -> dict[str, str]:
        return super().environment(**{**self.slurm.environment, "MUSTER_SLURM_JOB_ID": self.job, **more})

    def sruns(self) -> list[Process]:
        """Return the living processes of the controllers' sruns, in any session."""
        sruns = [process for process in process_tree.every() if process_tree.command(process.pid) == "srun"]
        conf = self.slurm.environment["SLURM_CONF"]
        return [process for process in sruns if process_tree.environment(process.pid).get("SLURM_CONF") == conf]

    def steps(self) -> list[str]:
        """Return the names of the job's steps."""
        listing = self.slurm.run("squeue", "--noheader", "--steps", f"--jobs={self.job}", "--format=%j")
        return [name for name in listing.split() if name != "batch"]
