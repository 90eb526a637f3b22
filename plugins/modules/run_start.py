# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start a node's part of a launch; the code is in the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_start
short_description: Start a node's part of a launch
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Runs M(muster.train.run) with the node's job of the plan that is registered as C(launch__plan), the key of the run
    (C(launch__key) of localhost), and the secrets of the policy (C(launch_secrets)). The head also gets the plan.
  - It is skipped on a node that has no job. A spare that fails to start does not fail.
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
  - module: muster.train.run
  - module: muster.train.run_plan
"""

EXAMPLES = r"""
- name: Start the job
  muster.train.run_start:
  register: launch__info
"""

RETURN = r"""
run:
  description: The run on this node, as M(muster.train.run_info) returns it.
  returned: when the job has started
  type: dict
"""
