# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_stack_report`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_stack_report
short_description: Show where the ranks of a run are, and keep their stacks
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Shows which ranks are at the same place in their code, and writes a file for each rank below the experiment, in
    C(stacks/).
  - Runs once, on the controller, with the registered results of M(muster.train.run_stacks) on all nodes. Fails if no
    rank has shown its stacks.
extends_documentation_fragment:
  - muster.train.options.results
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_stacks
"""

EXAMPLES = r"""
- name: Show where the ranks are
  muster.train.run_stack_report:
    register: launch__stacks
    request: "{{ launch__checked_request }}"
  run_once: true
"""

RETURN = r"""
run_id:
  description: The run.
  returned: success
  type: str
  sample: multinode_42ch_256th_20261120_143052_3f9a
directory:
  description: The directory of the files on the controller. Null in check mode, which writes none.
  returned: success
  type: str
  sample: /home/me/experiments/multinode_42ch_256th_20261120_143052_3f9a/stacks/20261120T143152Z
"""
