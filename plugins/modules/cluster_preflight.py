# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `cluster_preflight`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_preflight
short_description: Check whether the cluster is ready for a launch
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Runs all checks on the facts of every node, and prints a summary, the problems with their remedies, and how nodes
    differ from most of the others.
  - A check returns for every node C(pass), C(warn), C(fail), C(skip) (it does not apply) or C(error) (could not be
    checked, which is never a pass). What is expected comes from C(preflight_expected) or from the other nodes.
  - The document O(json) contains all findings under C(results), each with C(check), C(node), C(status), C(observed),
    C(expected), C(source), C(remedy) and C(level).
  - With the request's parameter C(page), writes a self-contained HTML page with the same content.
  - Runs once, on the controller, with the registered results of all nodes. Nothing on any node is changed.
  - Uses the variables of the roles P(muster.train.preflight#role), P(muster.train.launch#role) and C(container) of the
    first node.
options:
  request:
    description: The request, as M(muster.train.verb_request) returns it for the verb C(preflight).
    type: dict
    required: true
  register:
    description: Name of the variable in which the nodes' results of M(muster.train.node_facts) are registered.
    type: str
    default: preflight__facts
  json: {description: 'File on the controller for all findings. If empty, none is written.', type: str, default: ''}
  stop_on:
    description:
      - When the task fails. V(fail) is a failed check, V(error) a required check that could not be made.
      - Checks whose level is V(warn) never make it fail.
    type: list
    elements: str
    choices: [fail, error]
    default: [fail, error]
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
attributes:
  check_mode:
    support: full
    details:
      - In check mode it prints, and writes no file.
seealso:
  - module: muster.train.node_facts
"""

EXAMPLES = r"""
- name: Gather facts of every node
  muster.train.node_facts:
    workdir: ~/muster
    asked_at: "{{ now().timestamp() }}"
    probe_disks: true
  register: preflight__facts
  ignore_unreachable: true

- name: Check the cluster
  muster.train.cluster_preflight:
    request: "{{ hostvars['localhost']['launch__request']['request'] }}"
    json: preflight.json
  run_once: true
"""

RETURN = r"""
code:
  description: V(0) if all checks passed, V(1) if a check failed, V(2) if a required check could not be made.
  returned: always
  type: int
verdict:
  description: Which checks failed or could not be made, and on which nodes, in one line.
  returned: success
  type: str
"""
