# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_collect`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_collect
short_description: Collect one node's part of a run
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Copies new logs, metrics, outputs and state of a run from one node into the experiment on the controller.
    What O(exclude) and O(limit_mib) leave on the node is counted.
  - Writes the logs of the launcher and its ranks, merged by time, to C(logs/node_RANK_TIME.txt).
options:
  workdir: {description: The node's work directory., type: str, required: true}
  run_id: {description: The run., type: str, required: true}
  node: {description: The node's name in the inventory., type: str, required: true}
  node_rank: {description: "The node's rank, which is its position in the group.", type: int, required: true}
  part:
    description:
      - The node's part of the run. Only files of these ranks are collected,
        whatever the node says; without a part, no files of ranks.
    type: dict
    default: {}
  by_plan:
    description: Whether O(part) is by the plan; only words differ.
    type: bool
    default: true
  experiment: {description: The experiment's directory on the controller., type: str, required: true}
  wait: {description: Seconds to wait for an active runner to end., type: int, default: 0}
  spares:
    description:
      - Whether the cluster has spares, so that two nodes may have had the same ranks, one after the other.
      - In that case the newer one of two files of a rank is kept.
    type: bool
    default: false
  shared_output_dir:
    description: >-
      The directory of all nodes below which the run has its outputs, in a directory of its ID. These are collected from
      the head, with the files of all ranks. Without it each node's are in its run directory.
    type: str
  exclude:
    description: Patterns for names of files and directories among the outputs that stay on the node.
    type: list
    elements: str
    default: []
  limit_mib:
    description: >-
      Limit of the outputs that are collected from the node, in MiB; V(0) for no limit. The smallest files are taken
      first, those that do not fit stay on the node.
    type: int
    default: 1024
extends_documentation_fragment:
  - muster.train.options.docker
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_info
  - module: muster.train.step
"""

EXAMPLES = r"""
- name: Collect the run from every node
  muster.train.run_collect:
    workdir: /home/me/muster
    run_id: multinode_42ch_256th_20261120_143052_3f9a
    node: "{{ inventory_hostname }}"
    node_rank: "{{ (groups['nodes'] + groups['spares'] | default([])).index(inventory_hostname) }}"
    part: "{{ launch__ranks.parts[inventory_hostname] | default({}) }}"
    experiment: experiments/multinode_42ch_256th_20261120_143052_3f9a
"""

RETURN = r"""
run:
  description: The run on this node, as M(muster.train.run_info) returns it.
  returned: success
  type: dict
fetched:
  description: Paths below the experiment that were copied, or in check mode would be.
  returned: success
  type: list
  elements: str
remaining:
  description: The outputs that stay on the node, as M(muster.train.run_info) returns it.
  returned: success
  type: dict
"""
