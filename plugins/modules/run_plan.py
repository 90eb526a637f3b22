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
    directories) before anything is done, and gives the origin of each value. M(muster.train.run) adds nothing to it.
  - The same facts, policy and request always give the same plan.
  - If the launch cannot succeed, fails with one line for each problem, which names the node, what was observed, what
    was expected and the remedy.
  - With the request's parameter C(page), writes what the plan found as a page, also if the launch is refused.
  - Runs once, on the first host of the play, which must be the head, and contacts no node.
  - M(muster.train.node_facts) must have run on every node of the request.
  - The variables C(launch_*) of the role P(muster.train.launch#role) are the cluster's policy.
options:
  request: {description: 'The request, as the first step of the verb returns it.', type: dict, required: true}
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
attributes:
  check_mode:
    support: full
    details:
      - In check mode it reports a change (the run that would start) and shows the plan as a difference.
      - In check mode it writes no page.
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
  register: launch__facts

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
    run_id: {description: The run that is planned., type: str}
    nodes: {description: The nodes in node-rank order; the first is the head., type: list, elements: str}
    spares:
      description:
        - The hosts in the group C(spares) that wait in this run to replace a lost node.
        - Empty without C(max_restarts). Hosts that replace a refused node are among the C(nodes).
      type: list
      elements: str
    replaced: {description: 'For each node that the plan refused, the spare that replaces it.', type: dict}
    nnodes: {description: Number of nodes., type: int}
    nproc: {description: Ranks per node. C(nproc_reason) is the reason., type: int}
    world_size: {description: Number of ranks on all nodes., type: int}
    head:
      description: The head's name (C(node)), the C(address) where all nodes reach it, and the C(reason) for it.
      type: dict
    master_port:
      description: The head's port for the rendezvous of the ranks. C(port_reason) is the reason.
      type: int
    fabric: {description: 'V(rdma) or V(tcp) as C(value), and the C(reason).', type: dict}
    not_set:
      description:
        - Variables that are deliberately not set for the ranks, by the node's name.
        - Each has its C(name), the C(rule) of the decision table and the C(reason).
      type: dict
    findings:
      description: The warnings, each with what was observed, what was expected, its source and the remedy.
      type: list
      elements: dict
    jobs: {description: "Each node's job by the node's name, for M(muster.train.run).", type: dict}
"""
