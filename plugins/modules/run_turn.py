# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_turn`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_turn
short_description: Wait for the turn of a launch in the queue for a slot
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Asks M(muster.train.run_queue) on one node every three seconds, and shows what keeps the launch from the slot. It
    returns when the turn of the launch has come there, and after O(round), so that the tickets on the other nodes can
    be renewed.
  - The wait ends when the time of the parameter C(wait) has passed, and on Ctrl-C. The launch then has to leave the
    queue everywhere, after which this action fails with the reason; nothing has been started.
  - Runs once; with C(delegate_to) on the node that the launch waits for.
options:
  node:
    description: The node's name in the inventory. Its C(launch_workdir) and C(launch_slot) say which queue it is.
    type: str
    required: true
  request:
    description: The request of the launch, which the first step of the verb has checked.
    type: dict
    required: true
  round: {description: Seconds after which it returns., type: int, default: 120}
  turn: {description: What this action returned when the wait ended; it fails with the reason., type: dict}
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_queue
"""

EXAMPLES = r"""
- name: Wait for the turn
  muster.train.run_turn:
    node: "{{ inventory_hostname }}"
    request: "{{ launch__request.request }}"
  run_once: true
"""

RETURN = r"""
ended:
  description: >-
    Why the wait has ended without a turn: V(time) or V(interrupted). Null where the turn has come on this node, or all
    nodes have to be asked again.
  returned: success
  type: str
answer:
  description: What M(muster.train.run_queue) returned last.
  returned: unless the turn had come or Ctrl-C was pressed
  type: dict
"""
