# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_plan`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_plan
short_description: Plan a run on all nodes, as data
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Decides everything that a launch will do on every node (ranks, fabric, addresses, environment, command line,
    directories), each value with where it comes from, before anything is done. M(muster.train.run) then does it and
    adds nothing.
  - The same facts, policy and request always give the same plan.
  - Refuses with all that stands against the launch at once, one line each, naming the node, what was seen, what was
    expected and what to do.
  - Runs once, on the first host of the play, which must be the head, and contacts no node.
  - M(muster.train.node_facts) must have run on every node of the request.
  - The cluster's policy is the variables C(launch_*) of the role P(muster.train.launch#role).
options:
  request:
    description: The request, as M(muster.train.verb_request) returns it.
    type: dict
    required: true
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
attributes:
  check_mode:
    support: full
    details:
      - In check mode it reports a change, the run that would start, and shows the plan as a difference.
  diff_mode:
    support: full
seealso:
  - module: muster.train.node_facts
  - module: muster.train.run
"""

EXAMPLES = r"""
- name: Read what every node is
  muster.train.node_facts:
    workdir: "{{ launch_workdir }}"

- name: Plan the run
  muster.train.run_plan:
    request: "{{ hostvars['localhost']['launch__request']['request'] }}"
  run_once: true
  register: launch__plan
"""

RETURN = r"""
plan:
  description: The plan.
  returned: success
  type: dict
  contains:
    run_id:
      description: The run that is planned.
      type: str
    nodes:
      description: The nodes in node-rank order; the first is the head.
      type: list
      elements: str
    spares:
      description:
        - The hosts of the group C(spares) that wait in this run for the rank of a node that is lost.
        - None without C(max_restarts); those that took the place of a refused node are among the C(nodes).
      type: list
      elements: str
    nnodes:
      description: How many nodes there are.
      type: int
    nproc:
      description: Ranks per node; C(nproc_reason) says why.
      type: int
    world_size:
      description: Ranks in all.
      type: int
    head:
      description: The head's name (C(node)), the C(address) where all nodes reach it, and the C(reason) for it.
      type: dict
    master_port:
      description: The head's port where the ranks meet; C(port_reason) says why.
      type: int
    fabric:
      description: V(rdma) or V(tcp) as C(value), and the C(reason).
      type: dict
    not_set:
      description:
        - What was left out of the ranks' environment on purpose, by the node's name.
        - Each has its C(name), the C(rule) of the decision table and the C(reason).
      type: dict
    findings:
      description: What is worth a warning, each with what was observed, what was expected, its source and the remedy.
      type: list
      elements: dict
    jobs:
      description: Each node's job by the node's name, for M(muster.train.run).
      type: dict
"""
