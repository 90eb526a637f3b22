# SPDX-License-Identifier: GPL-3.0-or-later
"""The fabric of a run by the logs in its directory, as a playbook asks for it on every node."""

from __future__ import annotations

import json

from ansible_collections.muster.train.tests.support.cluster import Cluster
from ansible_collections.muster.train.tests.support.nccl_logs import GDR, SOCKET, choice, edges

PLAY = """
- name: Prove the fabric
  hosts: nodes
  gather_facts: false
  tasks:
    - name: Prove the fabric
      muster.train.nccl_log_info:
        paths: ["{{ run_dirs[inventory_hostname] }}"]
        expected: rdma
        gdr: true
        ranks: [0, 1]
      register: witness
      failed_when: witness.nccl_log.verdict.verdict != wanted[inventory_hostname]
"""
LOGS = {
    "node0": [*choice(0), *choice(1), *edges(0, GDR), *edges(1, GDR)],
    "node1": [*choice(0), *choice(1, "Socket"), *edges(0, GDR), *edges(1, SOCKET)],
}


def test_the_logs_of_each_node_are_judged_there(cluster: Cluster) -> None:
    for node, lines in LOGS.items():
        logs = cluster.run_dir(node) / "logs"
        logs.mkdir(parents=True)
        logs.joinpath("rank_0.log").write_text("".join(f"2026-11-20T14:30:52.123Z {line}\n" for line in lines))
    playbook = cluster.home / "prove.yml"
    playbook.write_text(PLAY)
    run_dirs = {node: str(cluster.run_dir(node)) for node in LOGS}
    for wanted, failed in (({"node0": "pass", "node1": "fail"}, False), ({"node0": "pass", "node1": "pass"}, True)):
        variables = cluster.home / "variables.json"
        variables.write_text(json.dumps({"run_dirs": run_dirs, "wanted": wanted}))
        played = cluster.play(str(playbook), "-e", f"@{variables}")
        assert (played.rc != 0) is failed, played.out
