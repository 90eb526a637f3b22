# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `cluster_preflight`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_preflight
short_description: Check whether the cluster is fit for a launch
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Runs all checks on what every node answered, and prints a summary, what is not well with its remedy, and in what
    nodes differ from most of them.
  - A check says on every node what it observed - C(pass), C(warn), C(fail), C(skip) (it does not apply) or C(error) (it
    could not be checked, which is never a pass). What was expected comes from C(preflight_expected) or from the other
    nodes.
  - Everything that was seen goes into the document O(json), under C(results), each finding with C(check), C(node),
    C(status), C(observed), C(expected), C(source), C(remedy) and C(level).
  - Runs once, on the controller, on the registered answers of all nodes. Nothing on any node is changed.
  - Reads the variables of the roles P(muster.train.preflight#role), P(muster.train.launch#role) and C(container) of the
    first node.
options:
  request:
    description: The request, as M(muster.train.verb_request) returns it for the verb C(preflight).
    type: dict
    required: true
  register:
    description: Name of the variable that the nodes' answers are registered in - results of M(muster.train.node_facts).
    type: str
    default: preflight__facts
  json:
    description: File on the controller for everything that was found. Empty - none.
    type: str
    default: ""
  stop_on:
    description:
      - When the task fails - V(fail), a check failed; V(error), what had to be checked could not be.
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
- name: Read how every node is
  muster.train.node_facts:
    workdir: ~/muster
    asked_at: "{{ now().timestamp() }}"
    probe_disks: true
  register: preflight__facts
  ignore_unreachable: true

- name: Check it
  muster.train.cluster_preflight:
    request: "{{ hostvars['localhost']['launch__request']['request'] }}"
    json: preflight.json
  run_once: true
"""

RETURN = r"""
code:
  description: V(0), all is well; V(1), a check failed; V(2), what had to be checked could not be.
  returned: always
  type: int
said:
  description: Which checks failed or could not look, and where, in one line.
  returned: when the task does not fail; else it is its message
  type: str
"""
