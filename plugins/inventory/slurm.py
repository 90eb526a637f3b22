# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An inventory of the nodes of a Slurm allocation."""

from __future__ import annotations

DOCUMENTATION = r"""
name: slurm
short_description: The nodes of a Slurm allocation
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Makes the nodes of a job that runs the hosts of the group V(nodes), in Slurm's order, which is the node rank.
  - By default it is the job of the run that C(-e run_id) names, where the run was submitted (C(muster.train.submit)),
    else the one in whose allocation the command runs, as after C(salloc) or in a batch script. O(job_id) or O(job_name)
    choose another one.
  - The controller needs the commands of Slurm, as on a login node. An accounting database is not needed.
  - A job that waits for its nodes, or is suspended, is an inventory without hosts, and so is a shell without an
    allocation. A warning says why, or a verb that needs nodes.
  - Accepts configuration files named C(*slurm.yml) or C(*slurm.yaml).
  - Sets C(ansible_connection), C(ansible_srun_job), C(launch_slurm_end) where the job has a time limit,
    C(launch_slurm_kill_wait), and C(launch_defaults) with C(nproc), the number of GPUs that the job has on each node,
    where it has any.
options:
  plugin:
    description: This plugin.
    type: str
    required: true
    choices: [muster.train.slurm]
  job_id:
    description: The ID of the job.
    type: str
    env:
      - name: MUSTER_SLURM_JOB_ID
  job_name:
    description: The name of the job. Exactly one job of this user that runs or waits must have it.
    type: str
    env:
      - name: MUSTER_SLURM_JOB_NAME
  node_list:
    description:
      - The nodes as Slurm writes them, such as V(gpu[01-16]), for O(connection=ssh) and O(connection=local). Slurm is
        not asked then.
    type: str
    env:
      - name: MUSTER_SLURM_NODE_LIST
  connection:
    description:
      - V(srun) runs tasks as steps of the job, by the connection plugin P(muster.train.srun#connection).
      - V(ssh) logs in, which Slurm allows on most clusters while the job runs (pam_slurm_adopt).
      - V(local) reads and writes on the controller. Where nodes and controller share the work directory, this is how
        C(status), C(logs) and C(collect) read a run whose job has ended.
    type: str
    choices: [srun, ssh, local]
    default: srun
    env:
      - name: MUSTER_SLURM_CONNECTION
  group:
    description: The group that the nodes belong to.
    type: str
    default: nodes
"""

EXAMPLES = r"""
# inventories/slurm/slurm.yml; the policy is in group_vars/nodes.yml next to it.
# In a shell of salloc: ansible-playbook -i inventories/slurm launch.yml
# In another shell: MUSTER_SLURM_JOB_ID=1234 ansible-playbook -i inventories/slurm playbooks/status.yml
plugin: muster.train.slurm
---
# The allocation of the job that has this name
plugin: muster.train.slurm
job_name: train
"""

import functools
import os
import re

from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.utils.vars import load_extra_vars

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.plugin_utils._action.command_line import JOBS, OF_SLURM
from ansible_collections.muster.train.plugins.plugin_utils._action.inventories import add_group, note_absence, refuse
from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._slurm.allocation import Wanted, find_allocation
from ansible_collections.muster.train.plugins.plugin_utils._slurm.command import run_slurm

CONFIG = re.compile(r".*slurm\.ya?ml")


class InventoryModule(BaseInventoryPlugin):
    """Read the nodes of an allocation."""

    NAME = "muster.train.slurm"

    def verify_file(self, path: str) -> bool:
        return bool(os.access(path, os.R_OK) and CONFIG.fullmatch(os.path.basename(path)))

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path)
        self._read_config_data(path)
        OF_SLURM.append(path)
        options = (self.get_option(name) or None for name in ("job_id", "job_name", "node_list"))
        wanted = Wanted(*(*options, load_extra_vars(loader).get("run_id")))
        try:
            run = functools.partial(run_slurm, Host().run)
            allocation = find_allocation(wanted, self.get_option("connection"), os.environ, run)
        except UserError as error:
            refuse(path, error)
        if allocation.job is not None:
            JOBS.add(allocation.job)
        if allocation.note:
            note_absence(allocation.note)
        group = add_group(inventory, self.get_option("group"))
        for node in allocation.nodes:
            inventory.add_host(node, group=group)
        for name, value in allocation.variables.items():
            inventory.set_variable(group, name, value)
