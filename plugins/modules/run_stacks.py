# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the Python stacks of the ranks of a run on one node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_stacks
short_description: Show where the ranks of a training run on one node are
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Takes the Python stacks of all threads of each rank. A rank of a run that is watched for hangs answers itself; the
    others are read by py-spy where it is installed and allowed to read them, else by Python's own faulthandler, which
    every run registers for a signal. The ranks go on.
  - py-spy is searched for beside O(python) and on E(PATH). For a run in a container, this is the container's.
options:
  workdir: {description: The node's work directory., type: path, required: true}
  run_id: {description: The run., type: str, required: true}
  node: {description: The node's name in the inventory., type: str, required: true}
  python: {description: The interpreter of the training., type: path, default: python3}
  rank: {description: Only this rank., type: int}
extends_documentation_fragment:
  - muster.train.options.docker
  - muster.train.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
seealso:
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Show where the ranks here are
  muster.train.run_stacks:
    workdir: /home/me/muster
    node: "{{ inventory_hostname }}"
    run_id: multinode_42ch_256th_20261120_143052_3f9a
"""

RETURN = r"""
run:
  description: The run on this node, as M(muster.train.run_info) returns it.
  returned: always
  type: dict
stacks:
  description: >-
    For each rank - rank (null for a process of a program that names no ranks), pid, source (V(answer) for a rank of a
    run that is watched for hangs, V(py-spy), V(faulthandler), or null where nothing could read it), why (why it is not
    py-spy, or why there are no stacks), and threads (name, main, and frames with function, file and line, the innermost
    first). The main thread comes first.
  returned: success
  type: list
  elements: dict
why:
  description: The reason in RV(ignore:msg), without the node's name.
  returned: failed
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import SAFE_RUN_ID
from ansible_collections.muster.train.plugins.module_utils._runs.job_container import EngineError
from ansible_collections.muster.train.plugins.module_utils._runs.read import read_run
from ansible_collections.muster.train.plugins.module_utils._runs.stacks import stacks_of


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "run_id": {"type": "str", "required": True},
            "node": {"type": "str", "required": True},
            "python": {"type": "path", "default": "python3"},
            "rank": {"type": "int"},
            "docker": {"type": "list", "elements": "str", "default": ["docker"]},
        },
        supports_check_mode=True,
    )
    params = module.params
    if not SAFE_RUN_ID.fullmatch(params["run_id"]):
        module.fail_json(msg=f"run_id: {params['run_id']!r} is not a valid run ID")
    host = Host()
    run = read_run(host, params["node"], params["workdir"], params["run_id"], params["docker"])
    try:
        stacks = stacks_of(host, run, params["docker"], params["python"], params["rank"])
    except EngineError as error:
        module.fail_json(msg=f"{run.node}: {error}", why=str(error), run=run.to_dict())
    module.exit_json(changed=False, run=run.to_dict(), stacks=[process.to_dict() for process in stacks])


if __name__ == "__main__":
    main()
