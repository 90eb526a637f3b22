# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove the files and containers of ended runs from a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_prune
short_description: Remove the files and containers of ended runs from a node
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Removes the containers of ended runs and, with O(days), the directories of runs that ended at least that many days
    ago, with their logs, outputs and checkpoints.
  - A run that is active or has processes left is kept. So is a directory that Muster did not create, that belongs to
    another user, or in which something is mounted. The reason is returned for each.
  - Only containers with a label for the work directory are considered. A running one is never removed. One that was
    created less than an hour ago and has not started is kept, and so is one whose run has no verdict, until
    M(muster.train.run) stops the run. If the run's directory is gone, both are removed.
options:
  workdir: {description: The node's work directory., type: path, required: true}
  node:
    description: The node's name in the inventory, under which the work directory has its runs.
    type: str
    required: true
  days:
    description: Remove the directories of runs that ended at least this many days ago. By default none.
    type: int
  controller_time:
    description: >-
      The controller's time, in seconds since the epoch. No run directory is removed if the node's clock, the clock of
      its file system and this one differ by more than an hour.
    type: int
  containers: {description: Whether to remove the containers of ended runs., type: bool, default: true}
extends_documentation_fragment:
  - muster.train.options.docker
  - muster.train.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
"""

EXAMPLES = r"""
- name: Remove containers of ended runs, and runs that ended a month ago
  muster.train.run_prune:
    workdir: ~/muster
    node: "{{ inventory_hostname }}"
    days: 30
    controller_time: "{{ now().timestamp() | int }}"
"""

RETURN = r"""
removed:
  description: What was removed, or in check mode would be.
  returned: always
  type: list
  elements: dict
  contains:
    kind: {description: V(container) or V(run)., type: str}
    name: {description: The name of the container or the run ID., type: str}
kept:
  description: What is old enough but was kept, each with the reason as C(why).
  returned: always
  type: list
  elements: dict
failed_on:
  description: What could not be removed, and why. If there is any, the task fails.
  returned: always
  type: list
  elements: str
engine:
  description: Why the engine did not answer. Null if it did, or if there is none.
  returned: always
  type: str
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs import prune
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "node": {"type": "str", "required": True},
            "days": {"type": "int"},
            "controller_time": {"type": "int"},
            "containers": {"type": "bool", "default": True},
            "docker": {"type": "list", "elements": "str", "default": ["docker"]},
        },
        supports_check_mode=True,
    )
    params = module.params
    if params["days"] is not None and params["days"] < 0:
        module.fail_json(msg=f"days: expected 0 or more, saw {params['days']}")
    result = prune.prune(
        Host(),
        params["workdir"],
        params["node"],
        days=params["days"],
        containers=params["containers"],
        docker=params["docker"],
        now=time.time(),
        controller=params["controller_time"],
        check=module.check_mode,
    )
    if result["failed_on"]:
        module.fail_json(msg=clean("; ".join(result["failed_on"])), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
