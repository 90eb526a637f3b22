# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gather what a launch needs to know of a node; the code is in the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_facts
short_description: Gather the facts of a node that a launch needs
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Runs M(muster.train.node_facts) with the options that follow from the checked request and from the variables
    C(launch_*) of the node.
  - Without a checked request it is skipped; M(muster.train.run_plan) says what to do.
options: {}
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
seealso:
  - module: muster.train.node_facts
  - module: muster.train.run_plan
"""

EXAMPLES = r"""
- name: Gather facts of every node
  muster.train.run_facts:
  register: launch__facts
"""

RETURN = r"""
facts_text:
  description: The facts of the node, as M(muster.train.node_facts) returns them.
  returned: if a request was checked
  type: str
"""
