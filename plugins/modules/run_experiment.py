# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_experiment`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_experiment
short_description: Record a run on the controller
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Keeps C(plan.json) and C(run.yml) in the experiment's directory. C(run.yml) has the parameters with their origins,
    the command line, commit, versions, times, verdict, exit codes and losses. Keys that the user added to it are kept.
  - C(run.yml) also has C(ended_attempts) (C(attempt) from 1, and how each ended), C(replaced) (which spare took the
    ranks of a node), C(silent) (nodes that did not answer, with their ranks) and C(warnings) (such as a full disk).
  - Makes the link C(latest), beside the experiments, point to the run that was last launched from this controller.
  - What was recorded earlier is kept if a node no longer returns it.
  - Runs once, on the controller, with the registered results of all nodes.
options:
  plan: {description: The plan of a launch. By default the C(plan.json) that was collected from the head., type: dict}
  experiments: {description: Directory of all experiments. By default the one of O(request)., type: path}
  phase: {description: 'The phase of the run on all nodes, if it is known better than from their results.', type: str}
  only_known: {description: Whether to leave out a run without a record here., type: bool, default: false}
extends_documentation_fragment:
  - muster.train.options.results
  - muster.train.attributes
  - muster.train.attributes.playbooks
attributes:
  diff_mode:
    support: full
seealso:
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Record the verdict
  muster.train.run_experiment:
    request: "{{ hostvars['localhost']['launch__request']['request'] }}"
  run_once: true
"""

RETURN = r"""
run_id:
  description: The run.
  returned: success
  type: str
verdict:
  description:
    - How the run ended, or its current state, as M(muster.train.run_report) returns it. Null if no node answered.
    - This task succeeds whatever the verdict is, so that a program reads the verdict of a failed run here.
  returned: success
  type: dict
experiment:
  description: The experiment's directory. Null if no node knows the run.
  returned: success
  type: str
"""
