# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin `follow`; there is no module of this name to run."""

from __future__ import annotations

DOCUMENTATION = r"""
module: follow
short_description: Follow a run on the head until it ends
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Shows one progress line (step, loss, tokens/s, elapsed time, time left), drawn over and over on a terminal, a plain
    line every five seconds elsewhere. It asks the head only, by a raw read once a second, and runs no module.
  - Ctrl-C ends the following, never the run.
  - Runs once, on the first host of the play, which must be the head.
options:
  run_dir:
    description: The run's directory on the head.
    type: str
    required: true
  request:
    description: The request that M(muster.train.request) made; its command tells how to follow again after Ctrl-C.
    type: dict
    default: {}
extends_documentation_fragment:
  - muster.train.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
seealso:
  - module: muster.train.collect
"""

EXAMPLES = r"""
- name: Follow the run on the head
  muster.train.follow:
    run_dir: "{{ launch__info.run.run_dir }}"
    request: "{{ launch__request.request }}"
  run_once: true
  register: launch__follow
"""

RETURN = r"""
ended:
  description: Whether the run has ended (or its runner has fallen silent, which M(muster.train.collect) then judges).
  returned: success
  type: bool
interrupted:
  description: Whether the user pressed Ctrl-C.
  returned: success
  type: bool
phase:
  description: The head's phase when following ended.
  returned: success
  type: str
"""
