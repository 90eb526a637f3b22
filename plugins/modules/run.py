# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start or stop one node's part of a run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run
short_description: Start or stop one node's part of a training run
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Starts the runner, the supervisor of the launcher on each node, detached from Ansible, and returns once it holds its
    slot, or for a run on a single node once the launcher is running. The runner continues when the controller, the
    connection or this module ends.
  - The runners of several nodes wait for each other and start their launchers together. If one does not join, or fails,
    they end together.
  - Stops a run through its runner, waits until it has ended, and ends the processes that carry the run's mark if the
    runner is gone. No other process is ever signaled.
  - A job is one entry of the plan that M(muster.train.run_plan) returns.
options:
  state:
    description:
      - V(started) creates the run directory, starts the runner and waits until it holds its slot.
      - V(stopped) ends the run on this node.
    type: str
    choices: [started, stopped]
    default: started
  job: {description: The node's job from the plan. Required to start., type: dict}
  plan: {description: 'The whole plan. The head keeps it, so that any controller can collect it.', type: dict}
  key:
    description: The run's key, with which its runners authenticate each other. It is not stored with the job.
    type: str
  runner:
    description: The runner as one compressed file in base64. The action sets it; a given value is replaced.
    type: str
  secrets:
    description: Environment variables of the ranks that are kept out of files, process lists and logs.
    type: json
  workdir: {description: The node's work directory. Required to stop., type: path}
  run_id: {description: The run to stop., type: str}
  nonce: {description: Stop only this launch of the run., type: str}
  grace: {description: Seconds between SIGTERM and SIGKILL when a run is stopped., type: int, default: 60}
  node: {description: The node's name in the inventory. Required to stop., type: str}
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
- name: Start this node's job
  muster.train.run:
    job: "{{ launch__plan.plan.jobs[inventory_hostname] }}"

- name: Stop a run here
  muster.train.run:
    state: stopped
    workdir: /home/me/muster
    node: "{{ inventory_hostname }}"
    run_id: multinode_42ch_256th_20261120_143052_3f9a
"""

RETURN = r"""
run:
  description: >-
    The run on this node, as M(muster.train.run_info) returns it. After a stop also C(swept) and C(unkillable).
  returned: always, in check mode of a start not
  type: dict
why:
  description: The reason in RV(ignore:msg), without the node's name.
  returned: failed
  type: str
log_tail:
  description: The last lines of the log when the job did not start.
  returned: failed
  type: list
  elements: str
"""

import base64
import dataclasses
import json
import zlib
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import RUN_ID
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

# Each state imports what it needs: on the node every file of a module is compiled anew.


def _mask(value: Any, hidden: list[str]) -> Any:
    """Put stars in the place of secrets that ranks have printed."""
    if isinstance(value, dict):
        return {name: _mask(item, hidden) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mask(item, hidden) for item in value]
    if isinstance(value, str):
        for secret in sorted(hidden, key=len, reverse=True):
            value = value.replace(secret, "********")
    return value


def _start(module: AnsibleModule) -> None:
    from ansible_collections.muster.train.plugins.module_utils._records.job import ACTIVE, ENDED, Job
    from ansible_collections.muster.train.plugins.module_utils._runs.start import start
    from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError

    job = Job.from_dict(module.params["job"])
    secrets = json.loads(module.params["secrets"] or "{}")
    if not isinstance(secrets, dict):
        module.fail_json(msg="secrets: expected a mapping of environment variables")
    # A short secret may occur in the run's own names; a launch goes on by these.
    public = json.dumps([job.to_dict(), ACTIVE, ENDED], ensure_ascii=False)
    hidden = [str(value) for value in secrets.values() if str(value) not in public]
    if module.check_mode:
        module.exit_json(changed=True)
    runner = zlib.decompress(base64.b64decode(module.params["runner"]))
    try:
        changed, run = start(Host(), job, runner, module.params["plan"], module.params["key"], secrets)
    except StartError as error:
        module.fail_json(
            **_mask({"msg": clean(f"{job.node}: {error}"), "why": clean(error), "log_tail": error.tail}, hidden)
        )
    module.exit_json(changed=changed, run=_mask(run.to_dict(), hidden))


def _stop(module: AnsibleModule) -> None:
    from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop

    params = module.params
    changed, run, swept = stop(
        Host(),
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
    module.exit_json(changed=changed, run=answer)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
            "job": {"type": "dict"},
            "plan": {"type": "dict"},
            "key": {"type": "str", "no_log": True},
            "runner": {"type": "str", "no_log": True},  # no secret, but too long for the node's system log
            # One text: of a mapping Ansible would mask every value, a short one in the run's own names and numbers too.
            "secrets": {"type": "json", "no_log": True},
            "workdir": {"type": "path"},
            "run_id": {"type": "str"},
            "nonce": {"type": "str", "no_log": False},
            "grace": {"type": "int", "default": 60},
            "node": {"type": "str"},
            "docker": {"type": "list", "elements": "str", "default": ["docker"]},
        },
        required_if=[("state", "started", ("job", "runner")), ("state", "stopped", ("workdir", "node", "run_id"))],
        supports_check_mode=True,
    )
    run_id = module.params["run_id"]
    if run_id is not None and not RUN_ID.fullmatch(run_id):
        module.fail_json(msg=f"run_id: {run_id!r} is not a valid run ID")
    {"started": _start, "stopped": _stop}[module.params["state"]](module)


if __name__ == "__main__":
    main()
