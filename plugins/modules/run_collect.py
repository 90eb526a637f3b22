# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_collect`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_collect
short_description: Bring one node's part of a run to the controller
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Fetches the logs, metrics, outputs and state of a run from one node into the experiment, only what is not there yet.
    Checkpoints stay on the node.
  - Writes all that the node said, the launcher and its ranks merged by time, to C(logs/node_RANK_TIME.txt).
options:
  workdir:
    description: The node's work directory.
    type: str
    required: true
  run_id:
    description: The run.
    type: str
    required: true
  node:
    description: The node's name in the inventory.
    type: str
    required: true
  node_rank:
    description: The node's rank, its place in the group.
    type: int
    required: true
  experiment:
    description: The experiment's directory on the controller.
    type: str
    required: true
  docker:
    description: How Docker is called on the node, word by word; asked for a run in a container that left no verdict.
    type: list
    elements: str
    default: [docker]
  wait:
    description: Seconds to wait for a runner that still lives to end.
    type: int
    default: 0
  spares:
    description:
      - Whether the cluster has spares, so that two nodes may have had the same ranks, one after the other.
      - Of two files of one rank the newer one stays then.
    type: bool
    default: false
  limit_mib:
    description: Leave files above this size in MiB on the node, with a warning.
    type: int
    default: 1024
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Bring the run home
  muster.train.run_collect:
    workdir: /home/me/muster
    run_id: multinode_42ch_256th_20261120_143052
    node: "{{ inventory_hostname }}"
    node_rank: "{{ (groups['nodes'] + groups['spares'] | default([])).index(inventory_hostname) }}"
    experiment: experiments/multinode_42ch_256th_20261120_143052
"""

RETURN = r"""
run:
  description: The run on this node, as M(muster.train.run_info) returns it.
  returned: success
  type: dict
fetched:
  description: Paths below the experiment that were brought (in check mode, that would be).
  returned: success
  type: list
  elements: str
"""
