# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_experiment`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_experiment
short_description: Write down what is known of a run
version_added: "0.1.0"
author:
  - The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Keeps C(plan.json) and C(run.yml) in the experiment's directory. C(run.yml) has the parameters with their origins,
    the command line, commit, versions, times, verdict, exit codes and losses. Keys that the user added to it are kept.
  - Points C(latest), beside the experiments, at the run that was launched last from here.
  - Nothing that was known of a run is forgotten when a node can no longer tell it.
  - Runs once, on the controller, on the registered answers of all nodes.
options:
  request:
    description: The request that the verb was checked with.
    type: dict
    required: true
  plan:
    description: The plan of a launch. By default the C(plan.json) that was collected from the head.
    type: dict
  experiments:
    description: Directory of all experiments. By default the one of O(request).
    type: path
  phase:
    description: The phase of the run on all nodes, where that is known better than from their answers.
    type: str
  run_id:
    description: The run. By default the one of O(request), or the one that the nodes tell of.
    type: str
  nodes:
    description: The nodes in node-rank order. By default those of the request or plan, or the group C(nodes).
    type: list
    elements: str
  register:
    description: >-
      Name of the variable that the nodes' answers are registered in: results of M(muster.train.run_info),
      M(muster.train.run) or M(muster.train.run_collect).
    type: str
    default: launch__info
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
attributes:
  diff_mode:
    support: full
seealso:
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Write the verdict down
  muster.train.run_experiment:
    request: "{{ hostvars['localhost']['launch__request']['request'] }}"
  run_once: true
"""

RETURN = r"""
experiment:
  description: The experiment's directory.
  returned: success
  type: str
"""
