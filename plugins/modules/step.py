# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `step`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: step
short_description: Carry a step of a verb
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - The steps of a verb are functions in C(plugins/plugin_utils/_verbs/). A step runs a module on each host, whose
    result this task returns, or it concludes what is printed and written from the answers of all hosts. The latter runs
    once.
options:
  name:
    description: Its verb and its name, such as V(list.report).
    type: str
    required: true
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
"""

EXAMPLES = r"""
- name: List the runs
  muster.train.step:
    name: list.report
  run_once: true
"""

RETURN = r"""
verb_document:
  description: What the step knows of the verb's document.
  returned: if one was asked for with C(output=json), and the step runs once
  type: dict
"""
