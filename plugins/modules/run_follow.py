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
  - Shows one progress line (step, loss, tokens/s, elapsed time, time left), which is updated in place on a terminal and
    printed at most every ten seconds elsewhere. It reads from the head only, once a second, more often near the end.
  - If there is no heartbeat for 20 seconds, as on a full disk, M(muster.train.run_info) checks whether the runner is
    alive. If it is, or if that is unknown, the module continues to follow.
  - If the head cannot be reached for a minute, or the state of the run cannot be read for two minutes, following ends
    and nothing is stopped. With O(until=ended) the task fails and shows the next commands.
  - Ctrl-C stops following, never the run. A second one ends Ansible.
  - Runs once, on the first host of the play, which must be the head.
options:
  run_dir:
    description: The run's directory on the head. Empty if the head did not return it, which fails with a clear message.
    type: str
    required: true
  workdir: {description: The head's work directory., type: str, required: true}
  run_id: {description: The run., type: str, required: true}
  node: {description: The head's name in the inventory., type: str, required: true}
  request:
    description: The request. Its command is shown after Ctrl-C, to follow again.
    type: dict
    default: {}
  until:
    description:
      - V(ended) follows the run to its end.
      - V(running) returns once the launchers of all nodes are running, and fails if the run ends before that. If the
        head cannot be read for that long, it returns RV(why), as the run may be healthy.
    type: str
    choices: [ended, running]
    default: ended
  why:
    description: Why the run is not followed. If given, the task fails with this reason and contacts no node.
    type: str
extends_documentation_fragment:
  - muster.train.options.docker
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_collect
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Follow the run on the head
  muster.train.run_follow:
    run_dir: "{{ launch__info.run.run_dir }}"
    workdir: "{{ launch_workdir }}"
    run_id: "{{ launch__request.request.run_id }}"
    node: "{{ inventory_hostname }}"
    request: "{{ launch__request.request }}"
  run_once: true
  register: launch__follow
"""

RETURN = r"""
ended:
  description: Whether the run has ended, or its runner is gone, which M(muster.train.run_collect) then evaluates.
  returned: success
  type: bool
interrupted:
  description: Whether the user pressed Ctrl-C.
  returned: success
  type: bool
phase:
  description: The head's phase when following ended. Null if it is not known.
  returned: success
  type: str
why:
  description: Why it is not known whether the run has started.
  returned: when O(until=running) and the head could not be read
  type: str
"""
