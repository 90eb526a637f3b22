# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop one node's part of a run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_stop
short_description: Stop one node's part of a training run
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Stops a run through its runner, waits until it has ended, and ends the processes that carry the run's mark if the
    runner is gone. No other process is ever signaled.
  - Stopping a run that has ended changes nothing.
options:
  workdir: {description: The node's work directory., type: path, required: true}
  run_id: {description: The run to stop., type: str, required: true}
  nonce: {description: Stop only this launch of the run., type: str}
  grace: {description: Seconds between SIGTERM and SIGKILL., type: int, default: 60}
  node: {description: The node's name in the inventory., type: str, required: true}
extends_documentation_fragment:
  - muster.train.options.docker
  - muster.train.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
seealso:
  - module: muster.train.run
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Stop a run here
  muster.train.run_stop:
    workdir: /home/me/muster
    node: "{{ inventory_hostname }}"
    run_id: multinode_42ch_256th_20261120_143052_3f9a
"""

RETURN = r"""
run:
  description: >-
    The run on this node, as M(muster.train.run_info) returns it, with C(swept), the number of processes that had no
    runner, and C(unkillable), the pids that SIGKILL does not end.
  returned: always
  type: dict
nodes:
  description: On the head, what its runner knew of each node in the end, as M(muster.train.run_info) returns it.
  returned: success
  type: list
  elements: dict
why:
  description: The reason in RV(ignore:msg), without the node's name.
  returned: failed
  type: str
"""

import dataclasses

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import SAFE_RUN_ID
from ansible_collections.muster.train.plugins.module_utils._runs.read import read_statuses
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "run_id": {"type": "str", "required": True},
            "nonce": {"type": "str", "no_log": False},
            "grace": {"type": "int", "default": 60},
            "node": {"type": "str", "required": True},
            "docker": {"type": "list", "elements": "str", "default": ["docker"]},
        },
        supports_check_mode=True,
    )
    params = module.params
    if not SAFE_RUN_ID.fullmatch(params["run_id"]):
        module.fail_json(msg=f"run_id: {params['run_id']!r} is not a valid run ID")
    host = Host()
    changed, run, swept = stop(
        host,
        params["node"],
        params["workdir"],
        params["run_id"],
        params["nonce"],
        params["grace"],
        module.check_mode,
        params["docker"],
    )
    answer = {**run.to_dict(), **dataclasses.asdict(swept)}
    if swept.unkillable:
        why = f"processes that SIGKILL does not end stay: pid {', '.join(map(str, swept.unkillable))}"
        module.fail_json(msg=f"{run.node}: {why}", why=why, run=answer)
    nodes = [status.to_dict() for status in read_statuses(host, run)]
    module.exit_json(changed=changed, run=answer, nodes=nodes)


if __name__ == "__main__":
    main()
