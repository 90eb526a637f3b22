# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_log_stream`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_log_stream
short_description: Follow the logs of a run on all nodes until it ends
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - The worker of each node reads what is new in the node's logs, more than once a second; that of the first node prints
    the lines of all nodes, merged by time.
  - At most 4 MiB are read at a time from all nodes together. Where more is written, the newest part is shown, after a
    line that says how much was skipped.
  - A node that does not answer is named, and the lines of the others go on.
  - Ctrl-C stops following, never the run. A second one ends Ansible.
  - All nodes are followed at once, so that Ansible needs a fork for each.
options:
  run_dir: {description: The run's directory on the node., type: str, required: true}
  workdir: {description: The node's work directory., type: str, required: true}
  run_id: {description: The run., type: str, required: true}
  node: {description: The node's name in the inventory., type: str, required: true}
  nodes:
    description: The nodes that are followed. Nothing is done for another one.
    type: list
    elements: str
    required: true
  request:
    description: The request. Its command is shown after Ctrl-C, to follow again.
    type: dict
    default: {}
  lines: {description: Number of last lines that are shown first., type: int, default: 50}
  rank: {description: Show only the lines of this rank., type: int}
  grep: {description: Show only the lines that this regular expression of Python is found in., type: str}
extends_documentation_fragment:
  - muster.train.options.docker
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_follow
  - module: muster.train.step
"""

EXAMPLES = r"""
- name: Follow the logs
  muster.train.run_log_stream:
    run_dir: "{{ launch__report.followed[inventory_hostname] }}"
    workdir: "{{ launch_workdir }}"
    run_id: "{{ launch__run_id }}"
    node: "{{ inventory_hostname }}"
    nodes: "{{ launch__report.followed.keys() }}"
"""

RETURN = r"""
interrupted:
  description: Whether the user pressed Ctrl-C.
  returned: success
  type: bool
"""
