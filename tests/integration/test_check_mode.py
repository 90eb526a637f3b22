# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode is a dry run that says what would be, and touches nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, directories too."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def shown(out: str, title: str) -> list[str]:
    """Return the lines of one section of the shown plan, without their marks and their alignment."""
    plain = "\n".join(re.sub(r" +", " ", line.removeprefix("+").strip()) for line in out.splitlines())
    return plain.partition(f"\n{title}")[2].partition("\n\n")[0].splitlines()


@pytest.mark.gate
def test_launch_shows_the_plan_of_every_node_and_changes_nothing(cluster: Cluster) -> None:
    cluster.policy["launch_env"] = {"NCCL_DEBUG": "INFO", "TUNED": "cluster"}
    cluster.per_node = {"node1": {"launch_node_env": {"TUNED": "node", "CUDA_VISIBLE_DEVICES": "2,3"}}}
    cluster.write()
    (cluster.home / "config.yml").write_text("model: {layers: 2}\n")
    before = contents(cluster.home)
    files = {"CONFIG_FILE": str(cluster.home / "config.yml")}
    seed: dict[str, Any] = {"CHANNELS": "8", "THREADS": "128", "NPROC_PER_NODE": "3", "MASTER_PORT": "29555", **files}
    given = ["-e", "channels=42", "-e", '{"env": {"MINE": "1 2"}, "launcher": "torchrun"}']
    played = cluster.play("launch.yml", *given, "--check", "--diff", LABEL="seeds", **seed)
    assert played.rc == 0, played.out
    assert "Start the job" not in played.out
    assert contents(cluster.home) == before
    assert cluster.processes() == []
    run_id = re.search(r"run (multinode_42ch_128th_\d{8}_\d{6}_seeds_[0-9a-f]{4})", played.out)
    assert run_id, played.out
    parameters = shown(played.out, "parameters")
    for line in (
        "channels 42 # -e channels",
        "threads 128 # environment THREADS",
        "nproc 3 # environment NPROC_PER_NODE",
        f"config {cluster.home}/config.yml # environment CONFIG_FILE",
        "label seeds # environment LABEL",
        "master_port 29555 # environment MASTER_PORT",
        "script sleeper.py # cluster (launch_defaults)",
    ):
        assert line in parameters
    nodes = [shown(played.out, f"node {number}: {node}") for number, node in enumerate(cluster.names)]
    code = cluster.policy["launch_code_dir"]
    for number, lines in enumerate(nodes):
        directory = f"{cluster.home}/work/node{number}"
        for line in (
            f"work directory {directory} # slot default",
            f"run directory {directory}/.muster/nodes/node{number}/runs/{run_id[1]}",
            f"outputs {directory}/.muster/nodes/node{number}/runs/{run_id[1]}/outputs",
            f"code directory {code}",
            f"{code}/sleeper.py \\",
            f"--config {cluster.home}/config.yml",
            "--nproc-per-node=3 \\",
            f"PET_NODE_RANK={number} # muster: a spare takes that of a lost node",
            "PET_RDZV_ENDPOINT=127.0.0.1:29555 # muster: where the ranks connect; a restart takes the next port",
            "NCCL_MIN_NCHANNELS=42 # -e channels D6: the minimum and the maximum set the number",
            "NCCL_MAX_NCHANNELS=42 # -e channels D6: the minimum and the maximum set the number",
            "NCCL_DEBUG=INFO # cluster (launch_env)",
            "GLOO_SOCKET_IFNAME=lo # fabric D4: has the head's address 127.0.0.1",
            "MINE='1 2' # -e env",
            f"MUSTER_NODE=node{number} # muster",
        ):
            assert line in lines
        assert any(line.startswith("NCCL_NTHREADS=128 # environment THREADS") for line in lines)
    assert "TUNED=cluster # cluster (launch_env)" in nodes[0]
    assert not any("CUDA_VISIBLE_DEVICES" in line for line in nodes[0])
    assert "TUNED=node # node (launch_node_env): instead of cluster from cluster (launch_env)" in nodes[1]
    assert "CUDA_VISIBLE_DEVICES=2,3 # node (launch_node_env)" in nodes[1]


def test_launch_without_diff_shows_the_head_of_the_plan(cluster: Cluster) -> None:
    played = cluster.launch("--check", channels=42)
    assert played.rc == 0, played.out
    (heading,) = re.findall(rf"^run {RUN_ID}\n(?:  .*\n)+nothing was started; --diff shows", played.out, re.MULTILINE)
    assert "ranks       2 on 2 nodes, 1 each" in heading
    assert "MUSTER_NODE" not in played.out


def test_stop_and_collect_report_what_they_would_do(cluster: Cluster) -> None:
    launched = cluster.launch(script_args=["--seconds", "300"])
    assert launched.rc == 0, launched.out
    alive, experiment = cluster.identities(), contents(cluster.experiments)
    assert len(alive) >= 4, "a runner and a rank on each node"

    stop = cluster.verb("stop", "--check")
    assert (stop.rc, stop.phases) == (0, {"node0": "running", "node1": "running"}), stop.out
    assert stop.changed["node0"] >= 1
    assert stop.changed["node1"] == 1
    assert cluster.identities() == alive
    assert not list(cluster.run_dir("node0").glob("stop.*"))

    collect = cluster.verb("collect", "--check", run_id=RUN_ID)
    assert collect.rc == 0, collect.out
    assert collect.changed["node1"] == 1
    assert contents(cluster.experiments) == experiment

    follow = cluster.verb("follow", "--check")
    assert follow.rc == 0, follow.out
    assert follow.changed == {"localhost": 0, "node0": 0}  # a follow asks the head alone


def test_policy_may_refer_to_defaults_of_the_launch_role(cluster: Cluster) -> None:
    """Whichever verb reads it: only tasks of that role have its defaults."""
    defaults = {"script": "{{ 'sleeper' if launch_slot == 'default' }}.py", "label": "{{ launch_slot }}"}
    cluster.policy["launch_defaults"] = {**cluster.policy["launch_defaults"], **defaults}
    cluster.policy["launch_env"] = {"SLOT": "{{ launch_slot }}"}
    cluster.policy["launch_node_env"] = {"SLOT_OF_NODE": "{{ launch_slot }} of {{ inventory_hostname }}"}
    cluster.policy["launch_experiments_dir"] += "/{{ launch_slot }}"
    cluster.ignore_machine()
    launch = cluster.launch("--check", "--diff")
    assert "SLOT=default # cluster (launch_env)" in shown(launch.out, "environment"), launch.out
    detect = cluster.verb("detect")
    assert (detect.rc, "default of node1" in detect.out) == (0, True), detect.out
    preflight = cluster.verb("preflight")
    assert preflight.rc == 0, preflight.out
    stop = cluster.verb("stop")
    assert "nothing to stop: no node knows a run" in " ".join(stop.out.split())
