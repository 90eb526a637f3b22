# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `nccl_files`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_files
short_description: Decide the NCCL environment of all nodes, as the text of files
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Decides the environment of NCCL or RCCL for every node, from the facts of all of them and the cluster's policy, and
    returns it as the text of files in the grammar of whoever reads them. It writes none - the role
    P(muster.train.nccl_env#role) does.
  - Comments say by which rule and why each variable is set, and which are left alone on purpose.
  - Refuses when a node gave no facts, when the fabric that was asked for cannot be had, or when a value cannot be
    written in a grammar. Whatever else is wrong is a warning.
  - Runs once, on the controller, on the registered answers of all nodes.
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
  mode:
    description: The fabric.
    type: str
    choices: [auto, rdma, tcp]
    default: auto
  library:
    description: The library. When it is empty the node's PyTorch and GPUs tell.
    type: str
    choices: ['', nccl, rccl]
    default: ''
  version:
    description: The library's version, such as V(2.23.4). When it is empty the node's files tell.
    type: str
    default: ''
  head_address:
    description: The address at which every node reaches the head. When it is empty the head's facts tell.
    type: str
    default: ''
  variables:
    description: Variables for all nodes. They win over what is decided.
    type: dict
    default: {}
  nodes:
    description: The nodes in node-rank order. By default the group C(nodes).
    type: list
    elements: str
  register:
    description: >-
      Name of the variable that the nodes' answers are registered in - results of M(muster.train.node_facts) with the
      subsets C(rdma), C(gpu) and C(net).
    type: str
    default: nccl_env__facts
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.info_module
seealso:
  - module: muster.train.node_facts
  - module: muster.train.cluster_detect
"""

EXAMPLES = r"""
- name: Read what every node is
  muster.train.node_facts:
    workdir: ~/muster
    subset: [rdma, gpu, net, container, versions]
  register: nccl_env__facts

- name: Decide the environment of every node
  muster.train.nccl_files:
    version: 2.23.4
  run_once: true
  register: nccl_env__files
"""

RETURN = r"""
nodes:
  description: By the node's name its files, each with C(kind), C(name) and C(text).
  returned: success
  type: dict
  sample:
    gpu-01:
      - kind: conf
        name: nccl.conf
        text: "NCCL_SOCKET_IFNAME==eth0\n"
"""
