# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `cluster_host_keys`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_host_keys
short_description: Collect the SSH host keys of new hosts, and ask for confirmation
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Contacts all hosts at once, collects their host keys with C(ssh-keyscan), prints the fingerprints, and asks for
    confirmation. Without a terminal the request must have C(accept_keys).
  - Reports why a host cannot be reached, which is its name, the route, the port, or a host key that differs from the
    known one. Two names with the same address and port are refused.
  - A host behind a jump host is not scanned. Its key has to be in the inventory's C(known_hosts.txt).
  - Writes only a temporary file with the accepted keys, which Ansible removes at the end of the playbook.
options:
  request:
    description: The request, as M(muster.train.verb_request) returns it for the verb C(discover).
    type: dict
    required: true
  dir: {description: Directory on the controller for the inventories., type: path, default: inventories}
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.cluster_discover
"""

EXAMPLES = r"""
- name: Collect the host keys
  muster.train.cluster_host_keys:
    request: "{{ launch__request.request }}"
  register: discover__keys
"""

RETURN = r"""
hosts:
  description:
    - The hosts in node-rank order, each with C(name), C(host), C(user) and C(port) as they were given, C(address),
      whether it is C(reached), and otherwise the C(finding) with the reason.
  returned: success
  type: list
  elements: dict
known_hosts:
  description: The accepted keys, in the format of C(known_hosts).
  returned: success
  type: str
ssh_args:
  description: Options for ssh with which it accepts only these keys.
  returned: success
  type: str
"""
