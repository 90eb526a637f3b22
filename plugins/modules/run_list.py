# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_list`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_list
short_description: List the experiments
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Prints the experiments on this controller as a table, as JSON or as CSV. No node is contacted.
  - The parameters C(where), C(sort), C(last) and C(output) of the verb C(list) are in O(request).
  - Runs once, on the controller.
options:
  request:
    description: The request that M(muster.train.verb_request) returned.
    type: dict
    required: true
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.verb_request
"""

EXAMPLES = r"""
- name: List the experiments
  muster.train.run_list:
    request: "{{ launch__request.request }}"
"""

RETURN = r"""
experiments:
  description: The experiments on this controller that were asked for, in the order that was asked for.
  returned: success
  type: list
  elements: dict
  contains:
    run_id: {description: The run., type: str}
    label: {description: Its label., type: str}
    cluster: {description: 'The name of its cluster, after the inventory. Empty if it is not known.', type: str}
    commit: {description: 'The beginning of the commit of its code, with V(+) if files had changed.', type: str}
    verdict: {description: 'Its verdict, V(unknown) if none is recorded.', type: str}
    ended: {description: Whether the verdict is final., type: bool}
    loss: {description: 'The last loss, null if none is known or it is not finite.', type: float}
    elapsed_s: {description: 'Duration in seconds, null if it is not known.', type: float}
    created: {description: Time of the launch (UTC)., type: str}
    looked: {description: Time at which a run that has not ended was last collected (UTC)., type: str}
    parameters: {description: 'The values that were chosen for this run, by name.', type: dict}
    problem: {description: Why its C(run.yml) could not be read. Otherwise empty., type: str}
    values:
      description: Everything of the run that has one value, by the names that O(request) may filter and sort by.
      type: dict
    options:
      description: The options of C(ansible-playbook) that reach its nodes, null if they are not known.
      type: list
      elements: str
sweeps:
  description: The directories of sweeps among them, which have experiments of their own, the newest last.
  returned: success
  type: list
  elements: str
"""
