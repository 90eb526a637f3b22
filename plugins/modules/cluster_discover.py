# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `cluster_discover`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_discover
short_description: Write an inventory for new hosts
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Writes C(hosts.yml), C(group_vars/nodes.yml) and C(known_hosts.txt) of a new inventory, with the order and addresses
    of the hosts that answered, their hardware, and a suitable policy.
  - Hosts that did not answer are comments in their place. The task then fails at the end and reports the reason and the
    remedy for each.
  - Two names of one machine are refused, and nothing is written.
  - Runs on the controller, with the registered results of all hosts. Nothing on any host is changed.
options:
  request:
    description: The request, as M(muster.train.verb_request) returns it for the verb C(discover).
    type: dict
    required: true
  keys: {description: The result of M(muster.train.cluster_host_keys)., type: dict, required: true}
  register:
    description: Name of the variable in which the hosts' results of M(muster.train.node_facts) are registered.
    type: str
    default: discover__facts
  dir: {description: Directory on the controller for the inventories., type: path, default: inventories}
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
  description: The findings for hosts that could not be reached.
  returned: always
  type: list
  elements: dict
"""
