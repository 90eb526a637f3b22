# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `cluster_discover`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_discover
short_description: Write the inventory of new hosts
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Writes C(hosts.yml), C(group_vars/nodes.yml) and C(known_hosts.txt) of a new inventory - the order and addresses of
    the hosts that answered, what they are, and the policy that fits them.
  - Hosts that did not answer are comments in their place. The task fails at the end and says of each why, and what to
    do.
  - Two names of one machine are refused, and nothing is written.
  - Runs on the controller, on the registered answers of all hosts. Nothing on any host is changed.
options:
  request:
    description: The request, as M(muster.train.verb_request) returns it for the verb C(discover).
    type: dict
    required: true
  keys:
    description: What M(muster.train.cluster_host_keys) returned.
    type: dict
    required: true
  register:
    description: Name of the variable that the hosts' answers to M(muster.train.node_facts) are registered in.
    type: str
    default: discover__facts
  dir:
    description: Directory on the controller for the inventories.
    type: path
    default: inventories
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
attributes:
  diff_mode:
    support: full
seealso:
  - module: muster.train.cluster_host_keys
  - module: muster.train.node_facts
"""

EXAMPLES = r"""
- name: Write the inventory
  muster.train.cluster_discover:
    request: "{{ launch__request.request }}"
    keys: "{{ discover__keys }}"
"""

RETURN = r"""
inventory:
  description: Path of the inventory on the controller.
  returned: when at least one host answered
  type: str
unreached:
  description: The findings that say why hosts could not be reached.
  returned: always
  type: list
  elements: dict
"""
