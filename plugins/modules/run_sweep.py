# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_sweep`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_sweep
short_description: Launch the points of a sweep
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Launches a run for each point of a sweep, one after the other, each by an C(ansible-playbook) of its own.
  - The directory of the sweep has the experiments of its runs, and C(sweep.yml) with what became of the points.
  - Where an earlier request was for the same sweep, its directory is used again, and only the points that have not
    succeeded are launched. A run that an earlier command had started and not followed to its end is followed first.
  - Ctrl-C stops the run of the current point and ends the sweep.
  - Fails unless all points have succeeded.
  - Runs once, on the controller.
options:
  request:
    description: The request that M(muster.train.verb_request) returned for the verb C(sweep).
    type: dict
    required: true
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.verb_request
  - module: muster.train.run_list
"""

EXAMPLES = r"""
- name: Run the sweep
  muster.train.run_sweep:
    request: "{{ launch__request.request }}"
"""

RETURN = r"""
sweep_id:
  description: Name of the sweep.
  returned: success
  type: str
  sample: sweep_20261120_143052_nccl
folder:
  description: Directory of the sweep on the controller.
  returned: success
  type: str
points:
  description: The points of the sweep, in the order of their values.
  returned: success
  type: list
  elements: dict
  contains:
    number: {description: 'Number of the combination of values, counted from 1.', type: int}
    repeat: {description: 'Which run of this combination it is, counted from 1.', type: int}
    parameters: {description: The values by name., type: dict}
    key: {description: Hash of all launch parameters., type: str}
    outcome: {description: 'V(pending), V(succeeded) or why it has not succeeded.', type: str}
    run_id: {description: 'The last run, null if there is none.', type: str}
    why: {description: 'Reason of another outcome than V(succeeded).', type: str}
    elapsed_s: {description: Duration of the run in seconds., type: float}
    value: {description: 'The objective of the run, null if it has none.', type: float}
"""
