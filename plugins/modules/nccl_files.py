# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `nccl_files`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_files
short_description: Resolve the NCCL environment of all nodes, as the text of files
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Resolves the environment of NCCL or RCCL for every node from the facts of all nodes and the cluster's policy, and
    returns it as the text of files. The role P(muster.train.nccl_env#role) writes them.
  - Comments give the rule and the reason for each variable, and list those that are deliberately not set.
  - Fails if a node has no facts, if the requested fabric cannot be used, or if a format cannot represent a value. All
    other problems are warnings.
  - Runs once, on the controller, with the registered results of all nodes.
options:
  files:
    description:
      - The files to render.
      - V(compose) is C(nccl.env), C(KEY=value) without quotes, for C(--env-file) of docker and podman and for compose's
        C(env_file).
      - V(shell) is C(nccl.sh), C(export KEY='value'), to be sourced.
      - V(conf) is the library's own C(nccl.conf) or C(rccl.conf), which has the variables C(NCCL_*) and C(RCCL_*) only,
        and comments only for a library of version 2.26 or newer.
    type: list
    elements: str
    choices: [compose, shell, conf]
    default: [compose, shell, conf]
  mode: {description: The fabric., type: str, choices: [auto, rdma, tcp], default: auto}
  library:
    description: The library. If empty, it is determined from the node's PyTorch and GPUs.
    type: str
    choices: ['', nccl, rccl]
    default: ''
  version:
    description: The library's version, such as V(2.23.4). If empty, it is read from the node's files.
    type: str
    default: ''
  head_address:
    description: Address at which every node reaches the head. If empty, it is chosen from the head's facts.
    type: str
    default: ''
  variables: {description: Variables for all nodes. They override resolved values., type: dict, default: {}}
  nodes: {description: The nodes in node-rank order. By default the group C(nodes)., type: list, elements: str}
  register:
    description: >-
      Name of the variable in which the nodes' results are registered, from M(muster.train.node_facts) with the
      subsets C(rdma), C(gpu) and C(net).
    type: str
    default: nccl_env__facts
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.info_module
seealso:
  - module: muster.train.node_facts
"""

EXAMPLES = r"""
- name: Gather facts of every node
  muster.train.node_facts:
    workdir: ~/muster
    subset: [rdma, gpu, net, container, versions]
  register: nccl_env__facts

- name: Resolve the environment of every node
  muster.train.nccl_files:
    version: 2.23.4
  run_once: true
  register: nccl_env__files
"""

RETURN = r"""
nodes:
  description: The files of each node, by its name, each with C(kind), C(name) and C(text).
  returned: success
  type: dict
  sample:
    gpu-01:
      - kind: conf
        name: nccl.conf
        text: "NCCL_SOCKET_IFNAME==eth0\n"
"""
