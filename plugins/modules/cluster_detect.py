# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `cluster_detect`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_detect
short_description: Show what the nodes are, and the environment for them
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Prints a table for every node with its GPUs and their links, its RDMA devices and ports, which of them a job would
    use, which variables would be set and why, which are deliberately not set, and what is wrong; and a summary of the
    cluster, which groups identical nodes and lists how the others differ.
  - Writes the same as a self-contained HTML page with a drawing of the topology, and as a JSON document.
  - Reports nodes that did not answer. The task fails at the end if a node did not answer, or if the requested fabric
    cannot be used.
  - Runs once, on the controller, with the registered results of all nodes. Nothing on any node is changed.
options:
  request:
    description: The request, as M(muster.train.verb_request) returns it for the verb C(detect).
    type: dict
    required: true
  nodes: {description: The nodes in node-rank order. By default the nodes of the request., type: list, elements: str}
  register:
    description: >-
      Name of the variable in which the nodes' results are registered, from M(muster.train.node_facts) with the
      subsets C(rdma), C(gpu) and C(net).
    type: str
    default: detect__facts
  dir:
    description: Directory on the controller for C(detect.html) and C(detect.json), if the request has no page.
    type: path
    default: detect
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
    subset: [rdma, gpu, net, limits, container, versions, kernel]
  register: detect__facts
  ignore_unreachable: true

- name: Report the nodes
  muster.train.cluster_detect:
    request: "{{ launch__request.request }}"
  run_once: true
"""

RETURN = r"""
page:
  description: Path of the page on the controller.
  returned: always
  type: str
document:
  description: Path of the JSON document on the controller.
  returned: always
  type: str
"""
