# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the state of a run on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_info
short_description: Read the state of a training run on a node
version_added: "0.1.0"
author: The Muster project (@muster)
description:
  - Reads the run directory of one node and returns the state of the run there. It needs neither the runner, nor the
    head, nor the controller that launched the run. A dead runner is recognized by its free lock.
options:
  workdir: {description: The node's work directory., type: path, required: true}
  run_id: {description: The run. The newest one in the work directory by default., type: str}
  node:
    description: The node's name in the inventory, under which the work directory has its runs.
    type: str
    required: true
  lines: {description: Number of last log lines to return., type: int, default: 0}
  rank: {description: Return only the lines of this rank., type: int}
  wait:
    description: Seconds to wait for an active runner to end. The nodes of a run end one after the other.
    type: int
    default: 0
  files: {description: 'Return the files of the run, with their checksums.', type: bool, default: false}
  shared_output_dir:
    description: >-
      The directory of all nodes below which the run has its outputs, in a directory of its ID. Without it they are in
      the run directory.
    type: path
  exclude:
    description: Patterns for names of files and directories among the outputs that stay on the node.
    type: list
    elements: str
    default: []
  limit_mib:
    description: >-
      Limit of the outputs that are collected from the node, in MiB; V(0) for no limit. The smallest files are taken
      first, those that do not fit stay on the node.
    type: int
    default: 0
extends_documentation_fragment:
  - muster.train.options.docker
  - muster.train.attributes
  - muster.train.attributes.info_module
"""

EXAMPLES = r"""
- name: Read the newest run
  muster.train.run_info:
    workdir: /home/me/muster
    node: "{{ inventory_hostname }}"
"""

RETURN = r"""
run:
  description: The run on this node. Its phase is V(not_found) if the node does not know it.
  returned: always
  type: dict
  contains:
    run_id: {description: 'The run ID, null if the work directory has no runs.', type: str}
    phase:
      description: >-
        V(not_found), V(prepared), V(waiting), V(running), V(drained), V(stopping), V(succeeded), V(failed), V(stopped),
        or V(lost): judged by the reader when the runner's lock is free without a terminal state.
      type: str
    why: {description: The reason of the phase in one line., type: str}
    run_dir: {description: The run's directory on the node; null where its files are not read., type: str}
    nonce: {description: Distinguishes the launches of one run ID., type: str}
    label: {description: The run's label., type: str}
    node: {description: The node's name in the inventory., type: str}
    node_rank: {description: The node's rank., type: int}
    nnodes: {description: Number of nodes of the run., type: int}
    nproc: {description: Number of ranks on this node., type: int}
    first_rank: {description: The lowest rank on this node., type: int}
    ranks:
      description: >-
        The ranks that a program which starts them itself (launcher V(exec)) has reported by their metrics. Null where
        the plan gives the ranks.
      type: list
      elements: int
    pids:
      description: >-
        The PIDs of the ranks on this node, in their order; with Docker, those in the container. Null if the run is not
        active, and where the ranks are not started by torchrun or directly.
      type: list
      elements: int
    exited_ranks:
      description: The ranks on this node that had exited with code 0 when the launcher ended the others.
      type: list
      elements: int
    running_ranks:
      description: The ranks on this node that were still running when the launcher ended them.
      type: list
      elements: int
    alone:
      description: On the head, whether the run succeeded although no rank joined a process group. Only torchrun tells.
      type: bool
    world_size: {description: Number of ranks on all nodes., type: int}
    created: {description: 'Time of the launch request in UTC, for example V(2026-11-20T14:30:52Z).', type: str}
    started: {description: "Time of the launcher's first start on this node, in UTC.", type: str}
    ended: {description: 'Time at which the run ended on this node, in UTC.', type: str}
    exit_code: {description: "The launcher's exit code, null when a signal ended it.", type: int}
    signal: {description: 'The signal that ended the launcher, such as V(SIGKILL).', type: str}
    likeness:
      description: >-
        How much the failure of this part looks like the cause of the run's end; lower is more likely. That of C(first),
        else the launcher's, by its log. Null where nothing failed.
      type: int
    log_tail:
      description: The last lines of the rank that failed first, or of the launcher.
      type: list
      elements: str
    heartbeat_age_s: {description: Seconds since the runner's last heartbeat. There is one per second., type: float}
    stalled:
      description: "On the head, a dictionary (node, seconds) for each node whose storage does not answer."
      type: list
      elements: dict
    log_dropped: {description: 'Number of log bytes that were lost, for example because of a full disk.', type: int}
    starter: {description: 'How the runner was started - V(setsid), V(systemd) or V(systemd-user).', type: str}
    memlock:
      description: The effective limit of locked memory of the runner (soft, hard) in bytes, V(-1) for none.
      type: dict
    boot_id: {description: The node's boot in which the run began here., type: str}
    pid: {description: The runner's process id., type: int}
    attempt: {description: 'Number of the current or last attempt, from 0.', type: int}
    gang:
      description: >-
        On the head, the state of all nodes - nodes, joined, started, attempt, and reports (node, node_rank, attempt,
        phase, why, exit_code, signal, rank, exception, message, time, traceback, likeness, oom_killed, oom_detail,
        step, saved, stuck) of the first 32 that did not succeed. At the end also phases (node to phase), and in each
        report cause, which is true for the node that ended the run and comes first. Also ended_attempts, a dictionary
        (attempt, ended in UTC, verdict, why, node, rank) for each attempt after which the run was restarted, the last
        32, and replaced, in which each node that lost its ranks has the spare that took them.
      type: dict
    warnings:
      description: >-
        What may have harmed the run on this node although it continued, each a dictionary (kind, node, at). The kind
        V(disk_full) means that the runner found no space for its own files, at this time (UTC) first.
      type: list
      elements: dict
    end:
      description: >-
        How the whole run ended, as received from the head - verdict, why, the node and rank of the cause, and note, the
        reason why it was not restarted. Null while the run is active, or if the runner did not receive it.
      type: dict
    alive: {description: 'Whether the runner lives, as its lock or its process shows.', type: bool}
    left: {description: Number of the run's processes on this node without a runner., type: int}
    first:
      description: >-
        The rank on this node that most likely failed first (rank, local_rank, exit_code, signal, exception (its type),
        message, traceback, time in unix seconds, likeness (lower is more likely to be the cause), oom_killed (true if
        the kernel killed it because memory ran out), oom_detail (what is known of memory that ran out) and log_tail).
      type: dict
    failures:
      description: The failed ranks on this node, the most likely cause first, each like C(first).
      type: list
      elements: dict
    progress:
      description: >-
        step, total_steps, loss, first_loss, tokens_per_s, samples_per_s and steps_per_s of the lowest rank on this
        node, as far as it writes or prints them.
      type: dict
    elapsed_s:
      description: Seconds from the launcher's first start to the end of the run on this node, or until now.
      type: float
runs:
  description: All runs of the work directory, newest first (run_id, created, phase as last written, alive).
  returned: always
  type: list
  elements: dict
nodes:
  description: >-
    On the head, what its runner knows of each node - its place in the plan (number), node_rank (null for a spare
    without ranks), state (V(absent), V(joined), V(running), V(drained), V(lost) or V(exited)), seconds since it was
    last heard (heard_s), seconds for which its storage has not answered (stalled_s), its last sign of life (sign, with
    phase, why, attempt, elapsed_s, progress, step_age_s, line_age_s, ranks, pids, exited_ranks, running_ranks,
    log_dropped, starter, memlock and warnings), and how its part ended (phase, why, exit_code, signal, stuck, ended).
    Empty on other nodes.
  returned: always
  type: list
  elements: dict
waiting:
  description: >-
    The launches that wait for a slot of the work directory, the next one first (run_id, nonce, node, user, since in
    UTC, slot, and admitted, which says that one is about to start).
  returned: always
  type: list
  elements: dict
hidden:
  description: >-
    The directory on the way to the runs that this user cannot read (path, owner, user), in which case the run has the
    phase V(unknown). Null where there is none.
  returned: always
  type: dict
log:
  description: Lines (time, node, rank, text), oldest first; a null rank is the launcher.
  returned: when O(lines) is above 0
  type: list
  elements: dict
files:
  description:
    - The files of the run (path below the run directory, size in bytes, modified in seconds since the epoch, sha256,
      and stays, which is the reason why the file cannot be copied or null). A file that stays has no sha256.
  returned: when O(files) is true
  type: list
  elements: dict
shared_outputs:
  description: The directory of the run's outputs if the nodes share it, else null.
  returned: when O(files) is true
  type: str
remaining:
  description:
    - The outputs that the verb C(collect) leaves on the node. Of those with a name in O(exclude) excluded is
      the number, excluded_bytes the size, and uncounted whether there are more. Of those beyond O(limit_mib) large is
      the number, large_bytes the size, and largest names the largest (path, size).
  returned: when O(files) is true
  type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.muster.train.plugins.module_utils._host.require_python import require_python

require_python()

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.holder import LaunchHolder
from ansible_collections.muster.train.plugins.module_utils._records.job import SAFE_RUN_ID
from ansible_collections.muster.train.plugins.module_utils._records.remaining import RemainingFiles
from ansible_collections.muster.train.plugins.module_utils._runs.files import RunPaths, list_files, read_logs
from ansible_collections.muster.train.plugins.module_utils._runs.hidden import explain_hidden, hidden_runs
from ansible_collections.muster.train.plugins.module_utils._runs.listing import list_runs, read_ended
from ansible_collections.muster.train.plugins.module_utils._runs.read import nothing_of, read_statuses
from ansible_collections.muster.train.plugins.module_utils.runner.tickets import list_waiting


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "run_id": {"type": "str"},
            "node": {"type": "str", "required": True},
            "docker": {"type": "list", "elements": "str", "default": ["docker"]},
            "lines": {"type": "int", "default": 0},
            "rank": {"type": "int"},
            "wait": {"type": "int", "default": 0},
            "files": {"type": "bool", "default": False},
            "shared_output_dir": {"type": "path"},
            "exclude": {"type": "list", "elements": "str", "default": []},
            "limit_mib": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    params = module.params
    if params["run_id"] is not None and not SAFE_RUN_ID.fullmatch(params["run_id"]):
        module.fail_json(msg=f"run_id: {params['run_id']!r} is not a valid run ID")
    host = Host()
    runs = list_runs(host, params["workdir"], params["node"])
    run_id = params["run_id"] or (runs[0].run_id if runs else None)
    run = (
        read_ended(host, params["node"], params["workdir"], run_id, params["docker"], params["wait"])
        if run_id
        else nothing_of(params["node"])
    )
    hidden = None if runs else hidden_runs(host, params["workdir"], params["node"])
    run = explain_hidden(run, hidden)
    result: dict[str, Any] = {"run": run.to_dict(), "runs": [listed.to_dict() for listed in runs]}
    result["hidden"] = hidden and hidden.to_dict()
    waiting = list_waiting(host.here(params["workdir"]), params["node"])
    result["waiting"] = [LaunchHolder.from_dict(launch).to_dict() for launch in waiting]
    result["nodes"] = [status.to_dict() for status in read_statuses(host, run)]
    here = run.run_dir is not None and run.phase != "not_found"  # of a directory that is not Muster's nothing is read
    if params["lines"] > 0:
        shown = (str(run.run_dir), str(run.node), params["lines"], params["rank"])
        result["log"] = read_logs(host, *shown) if here else []
    if params["files"]:
        limits = (params["limit_mib"] << 20, params["exclude"])
        paths = RunPaths.of(str(run.run_dir), params["shared_output_dir"], str(run_id))
        files, remaining = list_files(host, paths, *limits) if here else ([], RemainingFiles())
        result.update(files=files, remaining=remaining.to_dict(), shared_outputs=paths.shared_outputs)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
