# SPDX-License-Identifier: GPL-3.0-or-later
"""Spares take the place of a node that is refused at the launch, and of one that dies while the run goes on."""

from __future__ import annotations

import json
import re
import signal

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.process import Process
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for


def run_dir_of(process: Process) -> str:
    return process_tree.environment(process.pid).get("MUSTER_RUN_DIR", "")


@pytest.mark.gate
def test_the_run_ends_although_the_head_is_away_and_a_node_dies(cluster: Cluster) -> None:
    """Node 0, the head, is away and the spare node2 no good: node3 is the head; node1 dies, and node4 has its rank."""
    cluster.spares = ["node2", "node3", "node4"]
    cluster.per_node = {
        "node0": {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 9},
        "node2": {"launch_python": str(cluster.home / "no_python")},
    }
    cluster.write()
    until = cluster.home / "until"
    shared = cluster.home / "shared"
    shared.mkdir()
    launched = cluster.launch(
        max_restarts=1,
        script_args=f"--seconds 3000 --until {until}",
        env={"TEST_PLACE": "{output_dir}/{node_rank}"},
        launch_shared_output_dir=str(shared),
    )
    assert launched.rc == 0, launched.out
    output = " ".join(launched.out.split())
    assert "Connection refused, so the spare node3 takes its place; expected an SSH server (Ansible)" in output
    assert "node2: python interpreter: " in output and "so it is not a spare in this run" in output
    cluster.wait_phase(RUN_ID, "running", "node3", "node1")
    wait_for(lambda: "a spare" in str(cluster.state("node4").get("why")), "the spare has joined")
    status = cluster.verb("status")
    assert {node: status.phases[node] for node in ("node1", "node3", "node4")} == {
        "node1": "running",
        "node3": "running",
        "node4": "waiting",
    }
    assert "running · 2 ranks on 2 nodes · node3 for node0" in status.out
    assert re.search(r"^node3 +0 \(for node0\) +running ", status.out, re.MULTILINE), status.out

    runner = process_tree.look(int(cluster.state("node1")["pid"]))
    assert runner is not None
    process_tree.send(runner, signal.SIGKILL)
    cluster.wait_phase(RUN_ID, "running", "node4")
    ranks = [process for process in cluster.processes() if f"/node4/runs/{RUN_ID}" in run_dir_of(process)]
    places = {process_tree.environment(process.pid).get("TEST_PLACE") for process in ranks} - {None}
    assert places == {f"{shared}/{RUN_ID}/1"}, "the spare's ranks have the node rank that it took"
    until.touch()
    followed = cluster.verb("follow", run_id=RUN_ID)
    assert followed.rc == 0, followed.out
    assert (followed.phases["node1"], followed.phases["node3"], followed.phases["node4"]) == (
        "lost",
        "succeeded",
        "succeeded",
    )
    record = cluster.record()
    assert (record["verdict"], record["nodes"]) == ("succeeded", ["node3", "node1"])
    assert (record["replaced"], record["warnings"]) == ({"node0": "node3", "node1": "node4"}, [])
    [ended] = record["ended_attempts"]
    assert (ended["attempt"], ended["verdict"], ended["node"]) == (1, "lost", "node1")
    assert " · 2 ranks on 2 nodes · attempt 2 · node3 for node0 and node4 for node1 · " in followed.out
    assert f"  attempt 1 ended at {ended['ended'][11:19]} UTC: node1: " in followed.out
    brought = cluster.experiments / RUN_ID / "ranks" / "rank_01.log"
    assert brought.read_bytes() == (cluster.run_dir("node4") / "logs" / "rank_01.log").read_bytes(), "the later one"
    assert brought.read_bytes() != (cluster.run_dir("node1") / "logs" / "rank_01.log").read_bytes()
    assert cluster.processes() == []

    # A node that was not replaced keeps its ranks, whatever a spare says: node3 has rank 0, node4 took rank 1.
    log = (cluster.experiments / RUN_ID / "ranks" / "rank_00.log").read_bytes()
    state = cluster.run_dir("node4") / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "first_rank": 0}))
    forged = cluster.run_dir("node4") / "logs" / "rank_00.log"
    forged.write_text("2026-11-20T14:30:52Z forged\n")
    again = " ".join(cluster.verb("collect", run_id=RUN_ID).out.split())
    assert "node4: it claims rank 0, but the head gives it none; no files of ranks are taken from it" in again
    assert (cluster.experiments / RUN_ID / "ranks" / "rank_00.log").read_bytes() == log


def test_too_few_spares_refuse_the_launch_and_name_every_problem(cluster: Cluster) -> None:
    cluster.spares = ["node2"]
    no_python = {"launch_python": str(cluster.home / "no_python")}
    cluster.per_node = {"node1": no_python, "node2": no_python}
    cluster.write()
    launched = cluster.launch()
    assert launched.rc != 0
    [line] = launched.messages
    assert line.startswith("node1 and node2: python interpreter: ")
    assert cluster.processes() == []
