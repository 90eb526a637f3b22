# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `teardown`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: teardown
short_description: Say what was removed from every node
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Prints for every node what M(muster.train.run_prune) removed, what stays, and why. Fails where something that
    should have gone is still there, or where a node gave no answer.
  - Runs once, on the controller. It removes nothing itself.
options:
  request:
    description: The request, as M(muster.train.verb_request) returns it for the verb C(teardown).
    type: dict
    required: true
  register:
    description: Name of the variable that the nodes' answers are registered in.
    type: str
    default: launch__pruned
extends_documentation_fragment:
  - muster.train.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: N/A
seealso:
  - module: muster.train.run_prune
"""

EXAMPLES = r"""
- name: Say what was removed
  muster.train.teardown:
    request: "{{ launch__asked }}"
  run_once: true
"""

RETURN = r"""
{}
"""
