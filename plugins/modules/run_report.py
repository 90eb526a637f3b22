# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action `run_report`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_report
short_description: Report the state of a run
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Used by the playbooks of this collection.
  - Prints tables, the verdict, logs and the next commands as plain text. Text from hosts is escaped for a terminal and
    never templated.
  - A node that did not answer is a row in the table, not an error. A node without a part in the run is not shown.
  - Runs once, on the controller, with the registered results of all nodes.
options:
  what:
    description:
      - V(status) shows a row for each node, the verdict, and who failed first and why.
      - V(result) shows the same, and the path of the experiment.
      - V(logs) shows the last log lines of all nodes, merged by time. If the request is to follow them, it only returns
        RV(followed).
      - V(hints) shows the commands to follow, stop and inspect a run that was just started.
      - V(start) reports which nodes failed to start, and fails.
      - V(stopping) reports which runners are going to be stopped, if any.
      - V(stopped) shows the same as V(status), and on which nodes there was nothing to stop.
      - V(removed) shows per node what M(muster.train.run_prune) removed, what stays and why, and fails where something
        that should have gone is still there.
    type: str
    required: true
    choices: [status, result, logs, hints, start, stopping, stopped, removed]
  all_answer: {description: Whether to fail if a node did not answer., type: bool, default: false}
  why:
    description:
      - For V(start), why the nodes did not start together.
      - For V(hints), why it is not known whether the run has started, which is shown first.
    type: str
  grace: {description: Seconds between SIGTERM and SIGKILL. Required with V(stopping)., type: int}
  succeed_on: {description: Verdicts with which the task succeeds. By default all of them., type: list, elements: str}
extends_documentation_fragment:
  - muster.train.options.results
  - muster.train.attributes
  - muster.train.attributes.playbooks
seealso:
  - module: muster.train.run_info
"""

EXAMPLES = r"""
- name: Read the run on every node
  muster.train.run_info:
    workdir: /home/me/muster
    node: "{{ inventory_hostname }}"
  register: launch__info
  ignore_unreachable: true

- name: Show its verdict, and fail unless it succeeded
  muster.train.run_report:
    what: result
    succeed_on: [succeeded]
  run_once: true
"""

RETURN = r"""
run_id:
  description: The run.
  returned: when O(what) is not V(removed)
  type: str
followed:
  description: The run's directory on each node whose logs are to be followed.
  returned: when O(what) is V(logs) and the request is to follow them
  type: dict
verdict:
  description: How the run ended, or its current state.
  returned: success, when O(what) is V(status), V(result) or V(logs)
  type: dict
  contains:
    verdict:
      description: >-
        V(succeeded), V(failed), V(stopped), V(lost), V(running) or V(waiting); V(partial) if it has started on
        some nodes only, V(prepared) if on none, V(not_found) if no node knows it, V(unknown) if no node answers.
      type: str
    node: {description: The node that failed first., type: str}
    rank: {description: The rank that failed first., type: int}
    why: {description: 'What failed first and why, in one line.', type: str}
    cause:
      description: >-
        Where the end began, as data - node, rank (null for a launcher or a node), exit_code or signal, exception (the
        type of the uncaught one), message, traceback and oom_killed (true if the kernel killed the rank because memory
        ran out). Null where nothing failed.
      type: dict
    log_tail: {description: The last log lines of the rank or node that failed first., type: list, elements: str}
    consequences: {description: 'What followed from it, as one line each.', type: list, elements: str}
    active: {description: Nodes on which the run is still active., type: list, elements: str}
    exit_codes:
      description: The launcher's exit code on each node, null while it is running or if a signal ended it.
      type: dict
    started: {description: Time at which the first launcher started (UTC)., type: str}
    ended: {description: 'Time at which the last node ended (UTC), null before.', type: str}
    elapsed_s: {description: 'Duration of the longest part in seconds, so far or in total.', type: float}
    warnings:
      description: The C(warnings) of all nodes, as M(muster.train.run_info) returns them.
      type: list
      elements: dict
"""
