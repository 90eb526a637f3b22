# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start one node's part of a run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run
short_description: Start one node's part of a training run
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Starts the runner, the supervisor of the launcher on each node, detached from Ansible, and returns once it holds its
    slot, or for a run on a single node once the launcher is running. The runner continues when the controller, the
    connection or this module ends.
  - The runners of several nodes wait for each other and start their launchers together. If one does not join, or fails,
    they end together.
  - A job is one entry of C(jobs) in the plan, which the role P(muster.train.launch#role) makes.
options:
  job: {description: The node's job from the plan., type: dict, required: true}
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
extends_documentation_fragment:
  - muster.train.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
seealso:
  - module: muster.train.run_stop
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Start this node's job
  muster.train.run:
    job: "{{ launch__plan.plan.jobs[inventory_hostname] }}"
"""

RETURN = r"""
run:
  description: The run on this node, as M(muster.train.run_info) returns it.
  returned: when the job has started
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
likeness:
  description: How much this looks like the cause where other nodes did not start either; lower is more likely.
  returned: failed
  type: int
holder:
  description: The launch that holds what this one needs (run_id, nonce, node, user, since in UTC). Null without one.
  returned: failed
  type: dict
slot:
  description: The slot that RV(holder) holds; null where it holds the run itself.
  returned: failed
  type: str
"""

import binascii
import json
import zlib
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.phases import ACTIVE, ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import StartRefusal
from ansible_collections.muster.train.plugins.module_utils._runs.start import start
from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import NotBegun, StartError
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean


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


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "job": {"type": "dict", "required": True},
            "plan": {"type": "dict"},
            "key": {"type": "str", "no_log": True},
            "runner": {"type": "str", "no_log": True},  # no secret, but too long for the node's system log
            # One text: of a mapping Ansible would mask every value, a short one in the run's own names and numbers too.
            "secrets": {"type": "json", "no_log": True},
        },
        required_by={"job": ["runner"]},  # which the action adds
        supports_check_mode=True,
    )
    job = Job.from_dict(module.params["job"])
    secrets = json.loads(module.params["secrets"] or "{}")
    if not isinstance(secrets, dict):
        module.fail_json(msg="secrets: expected a mapping of environment variables")
    # A short secret may occur in the run's own names; a launch goes on by these.
    public = json.dumps([job.to_dict(), ACTIVE, ENDED], ensure_ascii=False)
    hidden = [str(value) for value in secrets.values() if str(value) not in public]
    if module.check_mode:
        module.exit_json(changed=True)
    runner = zlib.decompress(binascii.a2b_base64(module.params["runner"]))
    try:
        changed, run = start(Host(), job, runner, module.params["plan"], module.params["key"], secrets)
    except StartError as error:
        texts = {"msg": clean(f"{job.node}: {error}"), "why": clean(error), "log_tail": error.tail}
        refusal = error.refusal if isinstance(error, NotBegun) else StartRefusal()
        holder = refusal.holder.to_dict() if refusal.holder else None
        module.fail_json(**_mask(texts, hidden), likeness=int(error.likeness), holder=holder, slot=refusal.slot)
    module.exit_json(changed=changed, run=_mask(run.to_dict(), hidden))


if __name__ == "__main__":
    main()
