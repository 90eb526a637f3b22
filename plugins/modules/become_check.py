# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `become_check`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: become_check
short_description: Check that the user of the login becomes root
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Becomes root once, and changes nothing. If sudo is missing, cannot be run, or asks for a password that was not
    given, it fails with the node, what was observed, and what to do.
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
"""

EXAMPLES = r"""
- name: Check that the user becomes root
  muster.train.become_check:
  become: true
"""

RETURN = r"""
{}
"""
