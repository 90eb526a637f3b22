# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_shell`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_shell
short_description: Print the command that enters the node or the container of a rank
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Finds the node of a rank by what the nodes report, or by the plan in the experiment, and prints the command for a
    shell there, in the directory in which the ranks start. It executes nothing.
  - Runs once, on the controller, with the registered results of M(muster.train.run_info).
extends_documentation_fragment:
  - muster.train.options.results
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Print the command for a shell
  muster.train.run_shell:
    run_id: multinode_42ch_256th_20261120_143052_3f9a
    request: "{{ launch__checked_request }}"
  run_once: true
"""

RETURN = r"""
run_id:
  description: The run.
  returned: success
  type: str
  sample: multinode_42ch_256th_20261120_143052_3f9a
node:
  description: The node.
  returned: success
  type: str
  sample: node1
argv:
  description: The words of the command.
  returned: success
  type: list
  elements: str
  sample: [ssh, -t, me@10.0.0.2, 'sh -c ''cd /home/me/muster/code && exec "${SHELL:-sh}"''']
"""
