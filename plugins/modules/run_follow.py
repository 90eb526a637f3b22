# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_follow`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_follow
short_description: Follow a run on the head until it ends
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Shows one progress line (step, loss, tokens/s, elapsed time, time left), drawn over and over on a terminal, a plain
    line every five seconds elsewhere. It asks the head only, by a raw read once a second, oftener near the end.
  - When the runner's heartbeat stands still for 20 seconds, as it does on a full disk, M(muster.train.run_info) is
    asked whether the runner still lives. If it does, or if that can't be told, the following goes on.
  - It fails when the head has been out of reach for a minute; the run goes on.
  - Ctrl-C ends the following, never the run.
  - Runs once, on the first host of the play, which must be the head.
options:
  run_dir:
    description: The run's directory on the head. Empty when the head did not tell, which fails with one clear line.
    type: str
    required: true
  workdir:
    description: The head's work directory.
    type: str
    required: true
  run_id:
    description: The run.
    type: str
    required: true
  node:
    description: The head's name in the inventory.
    type: str
    required: true
  docker:
    description: How Docker is called on the head, word by word; asked for a run in a container that left no verdict.
    type: list
    elements: str
    default: [docker]
  request:
    description: The request that M(muster.train.verb_request) made; its command tells how to follow again after Ctrl-C.
    type: dict
    default: {}
  until:
    description:
      - V(ended) follows the run to its end.
      - V(running) returns once the launchers of all nodes run, and fails where the run ends before any was started.
    type: str
    choices: [ended, running]
    default: ended
extends_documentation_fragment:
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_collect
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Follow the run on the head
  muster.train.run_follow:
    run_dir: "{{ launch__info.run.run_dir | default('') }}"
    workdir: "{{ launch_workdir }}"
    run_id: "{{ launch__request.request.run_id }}"
    node: "{{ inventory_hostname }}"
    request: "{{ launch__request.request }}"
  run_once: true
  register: launch__follow
"""

RETURN = r"""
ended:
  description: Whether the run has ended (or its runner is no more, which M(muster.train.run_collect) then judges).
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
