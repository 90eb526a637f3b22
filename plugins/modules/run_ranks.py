# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_ranks`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_ranks
short_description: Return which ranks each node of a run has
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Reads the plan of the run in the experiment on the controller. It never replaces that plan.
  - If there is none, because the run was launched from another controller, it copies the head's plan to the controller,
    unless another node also says that it is the head.
  - A spare gets only ranks of a node that the head says was replaced, once the head's record of the run is final.
  - Without any plan the ranks are those that the nodes say they have. Two nodes that say the same get none.
  - Runs once, delegated to the head.
options:
  run_id: {description: The run., type: str, required: true}
  head: {description: The head's name in the inventory., type: str, required: true}
  experiment: {description: The experiment's directory on the controller., type: str, required: true}
extends_documentation_fragment:
  - muster.train.options.results
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_collect
  - module: muster.train.run_pick
"""

EXAMPLES = r"""
- name: Read the ranks of every node from the plan
  muster.train.run_ranks:
    run_id: multinode_42ch_256th_20261120_143052_3f9a
    head: node0
    experiment: experiments/multinode_42ch_256th_20261120_143052_3f9a
  delegate_to: node0
  run_once: true
  register: launch__ranks
"""

RETURN = r"""
by_plan:
  description: Whether the parts are by the plan, or only what the nodes say.
  returned: success
  type: bool
  sample: true
parts:
  description:
    - The part of each node. C(first_rank) is null for a spare. C(replaces) has the first ranks of the nodes that a
      spare has replaced by the head's record, null for other nodes and where the head does not say.
  returned: success
  type: dict
  sample:
    node0: {first_rank: 0, nproc: 8, nnodes: 2, replaces: null}
    node1: {first_rank: 8, nproc: 8, nnodes: 2, replaces: null}
"""
