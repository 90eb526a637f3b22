# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queue a launch for a slot of a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_queue
short_description: Queue a launch for a slot of a node
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Writes a ticket of the launch beside the slot's lock and returns which launches are ahead of it. A ticket keeps
    younger launches from the slot, whether or not these wait. It expires after five minutes unless it is renewed.
options:
  workdir: {description: The node's work directory., type: path, required: true}
  node: {description: The node's name in the inventory., type: str, required: true}
  slot: {description: The slot., type: str, default: default}
  run_id: {description: The run that waits., type: str, required: true}
  nonce: {description: The launch that waits., type: str, required: true}
  created: {description: 'When it was started (UTC), which orders the launches.', type: str, required: true}
  leave: {description: Remove the tickets of the launch on this node., type: bool, default: false}
extends_documentation_fragment:
  - muster.train.attributes
attributes:
  check_mode:
    support: none
  diff_mode:
    support: none
"""

EXAMPLES = r"""
- name: Queue for the slot
  muster.train.run_queue:
    workdir: /home/me/muster
    node: "{{ inventory_hostname }}"
    run_id: multinode_42ch_256th_20261120_143052_3f9a
    nonce: 0d6f7b1c2a9e4f58b3c1d2e3f4a5b6c7
    created: "2026-11-20T14:30:52Z"
"""

RETURN = r"""
admitted:
  description: Whether the slot is free and no other launch gets it before this one.
  returned: success
  type: bool
holder:
  description: The run that holds the slot (run_id, nonce, node, pid, since, user); null if it is free.
  returned: success
  type: dict
ahead:
  description: >-
    The launches that get the slot before this one (run_id, nonce, created, node, user, until, admitted): first those
    that are about to start, then older ones, the oldest first.
  returned: success
  type: list
  elements: dict
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.job import SAFE_RUN_ID
from ansible_collections.muster.train.plugins.module_utils._runs.queue import take_turn
from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError
from ansible_collections.muster.train.plugins.module_utils.runner.tickets import remove_launch


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "node": {"type": "str", "required": True},
            "slot": {"type": "str", "default": "default"},
            "run_id": {"type": "str", "required": True},
            "nonce": {"type": "str", "required": True, "no_log": False},
            "created": {"type": "str", "required": True},
            "leave": {"type": "bool", "default": False},
        }
    )
    params = module.params
    for name in ("slot", "run_id", "nonce"):
        if not SAFE_RUN_ID.fullmatch(params[name]):
            module.fail_json(msg=f"{params['node']}: {name}: {params[name]!r} is not a valid name")
    if not os.path.isabs(params["workdir"]):
        module.fail_json(msg=f"{params['node']}: workdir: {params['workdir']} is not an absolute path")
    place = params["workdir"], params["node"]
    if params["leave"]:
        module.exit_json(changed=remove_launch(*place, params["nonce"]))
    launch = {name: params[name] for name in ("run_id", "nonce", "created")}
    try:
        turn = take_turn(Host(), *place, params["slot"], launch)
    except StartError as error:
        module.fail_json(msg=f"{params['node']}: {error}")
    except OSError as error:
        path = error.filename or params["workdir"]
        module.fail_json(msg=f"{params['node']}: {path} could not be written: {error.strerror}")
    module.exit_json(changed=False, admitted=turn.admitted, holder=turn.holder, ahead=turn.ahead)


if __name__ == "__main__":
    main()
