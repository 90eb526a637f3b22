# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove what ended runs left on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_prune
short_description: Remove what ended runs left on a node
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Removes the containers of runs that have ended and, with O(days), the directories of runs that ended long ago - with
    their logs, outputs and checkpoints.
  - A run that lives, or has processes left, stays. So does a directory that Muster did not make, that belongs to
    somebody else, or that something is mounted in. Each is told with the reason.
  - Containers are those whose label names the work directory. One that runs is never removed. One that was made less
    than an hour ago and has not begun stays, and so does one that ended while its run has no verdict - the module
    M(muster.train.run) writes it down when it stops the run. Where the run's directory is gone, both go.
options:
  workdir:
    description: The node's work directory.
    type: path
    required: true
  days:
    description: Remove the directories of runs that ended so many days ago or more. By default none.
    type: int
  containers:
    description: Remove containers of ended runs.
    type: bool
    default: true
  docker:
    description: How Docker is called on the node, word by word. Where there is none, there are no containers.
    type: list
    elements: str
    default: [docker]
extends_documentation_fragment:
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
    days: 30
"""

RETURN = r"""
removed:
  description: What was removed, in check mode what would be.
  returned: always
  type: list
  elements: dict
  contains:
    kind: {description: V(container) or V(run)., type: str}
    name: {description: The name of the container or the run id., type: str}
kept:
  description: What is old enough and stays, each with C(why).
  returned: always
  type: list
  elements: dict
failed_on:
  description: What could not be removed, and why. The task fails where there is any.
  returned: always
  type: list
  elements: str
engine:
  description: Why the engine did not answer, null where it did or where there is none.
  returned: always
  type: str
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host import require_python  # noqa: F401

# isort: split
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs import prune
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "days": {"type": "int"},
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
        days=params["days"],
        containers=params["containers"],
        docker=params["docker"],
        now=time.time(),
        check=module.check_mode,
    )
    if result["failed_on"]:
        module.fail_json(msg=clean("; ".join(result["failed_on"])), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
