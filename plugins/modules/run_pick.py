# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_pick`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_pick
short_description: Choose the run for a verb
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Returns the requested run, or the newest run on all nodes. For the verb C(stop) the newest active run is preferred.
  - Fails if no node has it, and lists where it searched and which runs exist.
  - Runs once, on the controller, with the registered results of M(muster.train.run_info) on all nodes.
options:
  heads:
    description: >-
      The nodes of which one is the head of the run. Only they are searched, and a run that they do not have is not an
      error but V(null).
    type: list
    elements: str
  stopped:
    description: Whether the run was stopped on the head, so that nodes are asked on which something may be left.
    type: bool
    default: false
extends_documentation_fragment:
  - muster.train.options.results
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Gather the runs of every node
  muster.train.run_info:
    workdir: /home/me/muster
    node: "{{ inventory_hostname }}"
  register: launch__info
  ignore_unreachable: true

- name: Choose the newest
  muster.train.run_pick:
  run_once: true
  register: launch__run
"""

RETURN = r"""
ask:
  description: >-
    With O(heads), the other nodes of which the head does not know enough. All of them where no head has the run.
  returned: with O(heads)
  type: list
  elements: str
  sample: [node3]
heads:
  description: The nodes of O(heads), which have been asked.
  returned: with O(heads)
  type: list
  elements: str
  sample: [node0]
run_id:
  description: The run.
  returned: success
  type: str
  sample: multinode_42ch_256th_20261120_143052_3f9a
head:
  description: >-
    The node with node rank 0. By the plan in the experiment; without a plan a spare that says so, or the first node.
  returned: success
  type: str
  sample: node0
"""
