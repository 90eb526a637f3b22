# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `verb_request`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: verb_request
short_description: Check the parameters of a verb before any node is contacted
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Reads the parameters of a verb from C(-e), from the environment and from the cluster's O(defaults), in this order,
    checks them, and returns the values with their origins.
  - Fails with one line for each mistake - a parameter that is unknown, of the wrong type or out of range, parameters
    that contradict each other, a group C(nodes) that is empty or names a machine twice, C(--limit).
  - Values of C(-e) are used as they were typed. A template in them is text and is never evaluated.
  - An empty value of C(-e) removes the cluster's default. With C(-e script) or C(-e module) the cluster's C(script),
    C(module), C(config) and C(script_args) are ignored.
  - A run that is launched again with its run ID keeps the parameters that were given with C(-e) or in the environment,
    unless they are given again. They are read from the run's C(plan.json) in the directory of the experiments. If that
    file does not exist, there is a warning.
  - Extra variables that are not parameters are accepted if they are C(ansible_*) or variables of a role of this
    collection.
options:
  verb:
    description: The verb whose parameters to check.
    type: str
    required: true
    choices:
      - launch
      - status
      - logs
      - shell
      - stacks
      - follow
      - stop
      - collect
      - list
      - detect
      - discover
      - setup
      - teardown
      - preflight
      - sweep
  defaults:
    description:
      - The cluster's defaults for launch parameters.
      - By default the variable C(launch_defaults) of the first node.
    type: dict
  experiments_dir:
    description:
      - Directory on the controller that holds the experiments, relative to the current directory.
      - By default the variable C(launch_experiments_dir) of the first node, or else C(experiments).
    type: str
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
notes:
  - Runs on the controller, once. It contacts no node.
"""

EXAMPLES = r"""
- name: Check the request
  hosts: localhost
  gather_facts: false
  tasks:
    - name: Check the request of a launch
      muster.train.verb_request:
        verb: launch
      register: launch__request

- name: Work on the nodes of the request
  hosts: "{{ hostvars.localhost.launch__request.request.hosts }}"
  gather_facts: false
  tasks:
    - name: Gather the node's facts
      muster.train.node_facts:
        workdir: ~/muster
"""

RETURN = r"""
heads:
  description: >-
    The nodes of which one is the head of the run. By the plan in the experiment; without one the first node and the
    spares.
  returned: success
  type: list
  elements: str
  sample: [node0]
request:
  description: The request.
  returned: success
  type: dict
  contains:
    schema: {description: Version of this structure., type: int, sample: 1}
    verb: {description: The verb., type: str, sample: launch}
    run_id:
      description: The run. V(null) means the newest. A launch always has a run ID.
      type: str
      sample: multinode_42ch_256th_20261120_143052_3f9a
    nonce:
      description: 32 hexadecimal digits that distinguish launches with the same run ID. V(null) for other verbs.
      type: str
      sample: 9f86d081884c7d659a2feaa0c55ad015
    created: {description: 'When the request was made, in UTC.', type: str, sample: '2026-11-20T14:30:52Z'}
    parameters:
      description:
        - Every parameter of the verb by name, each a dictionary with C(value), C(origin) and C(layer).
        - The origin is C(-e NAME), C(environment NAME), C(cluster (launch_defaults\)) or C(default). The origin of
          a value from an earlier launch ends in C(, as in the run's plan).
        - The layer is the same for programs, V(extra_vars), V(environment), V(earlier), V(cluster) or V(default).
      type: dict
      sample:
        channels: {value: 42, origin: -e channels, layer: extra_vars}
        threads: {value: null, origin: default, layer: default}
    cluster: {description: 'Name of the cluster, after its inventory.', type: str, sample: h100}
    nodes:
      description: Names of the nodes in node-rank order, limited by C(nnodes). The first is the head.
      type: list
      elements: str
      sample: [node0, node1]
    spares:
      description:
        - For C(launch) the names of the hosts in the group C(spares), which replace refused or lost nodes.
        - For other verbs they are among the C(nodes).
      type: list
      elements: str
    hosts: {description: Pattern for the play on these nodes., type: str, sample: 'nodes[0:1]'}
    experiment:
      description: Directory of the run on the controller, as an absolute path. V(null) without a run ID.
      type: str
      sample: /home/me/experiments/multinode_42ch_256th_20261120_143052_3f9a
    experiments:
      description: Directory of all experiments on the controller, as an absolute path.
      type: str
      sample: /home/me/experiments
    controller: {description: C(host) and C(user) of the controller., type: dict, sample: {host: laptop, user: me}}
    command:
      description: The command line with shell quoting. Extra variables that may be secret are omitted.
      type: str
      sample: ansible-playbook launch.yml -e channels=42
    call:
      description: The start of the next commands, which finds the same inventories and this collection.
      type: str
      sample: ansible-playbook -i inventories/lab
    environment: {description: 'The environment variables in C(call), by name.', type: dict, sample: {}}
    options:
      description: The options in C(call), word by word.
      type: list
      elements: str
      sample: [-i, inventories/lab]
    versions:
      description: Versions of C(muster), C(ansible_core) and C(python) on the controller.
      type: dict
      sample: {muster: 0.1.0, ansible_core: 2.19.14, python: 3.11.7}
defaults:
  description: The cluster's C(launch_defaults), as the role's defaults complete them.
  returned: for launch, sweep, detect and preflight
  type: dict
  sample: {script: train.py, nproc: 8}
first_port:
  description: The first port of the cluster's C(launch_port_range). V(null) if the range is not valid.
  returned: for preflight
  type: int
  sample: 29400
"""
