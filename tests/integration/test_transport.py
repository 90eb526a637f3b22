# SPDX-License-Identifier: GPL-3.0-or-later
"""verify_transport on two nodes: ranks without a GPU log what NCCL would log there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.fake_fabric import give_devices
from ansible_collections.muster.train.tests.support.jobs import wait_for


@pytest.fixture
def fabric(cluster: Cluster, tmp_path: Path) -> Cluster:
    give_devices(cluster, tmp_path)
    cluster.policy["launch_defaults"]["script"] = "witness.py"
    cluster.write()
    return cluster


def transport_of(cluster: Cluster) -> dict[str, Any]:
    return cluster.state("node0").get("transport") or {}


@pytest.mark.gate
def test_a_fallback_to_tcp_ends_the_run_and_is_its_cause(fabric: Cluster) -> None:
    words = ["--network", "Socket", "--on-rank", "1"]
    done = fabric.play(
        "playbooks/launch.yml",
        "-e",
        json.dumps({"run_id": RUN_ID, "output": "json", "verify_transport": "fail", "script_args": words}),
        apart=True,
    )
    document = json.loads(done.out)
    assert documents.errors(document) == []
    verdict, transport = document["verdict"], document["transport"]
    assert (done.rc, verdict["verdict"], verdict["node"]) == (2, "failed", "node1")
    decided = (transport["verdict"], transport["node"], transport["finding"]["check"])
    assert decided == ("fail", "node1", "nccl transport")
    assert transport["is_stopped"]
    assert fabric.state("node0")["end"]["kind"] == "transport"
    assert fabric.record()["transport_verdict"] == "fail"
    wait_for(lambda: not fabric.processes(), "nothing is left")


def test_under_warn_it_is_shown_and_the_run_goes_on(fabric: Cluster) -> None:
    launched = fabric.launch(script_args=["--network", "Socket"], verify_transport=True)
    assert launched.rc == 0, launched.out
    transport = wait_for(lambda: transport_of(fabric), "the head has concluded")
    assert (transport["verdict"], transport["finding"]["check"]) == ("fail", "nccl transport")
    assert not transport["is_stopped"]
    shown = fabric.verb("status")
    assert "fabric: " in shown.out
    assert fabric.state("node0")["phase"] == "running"
    assert fabric.verb("stop").rc == 0


def test_what_is_proved_is_one_line(fabric: Cluster) -> None:
    done = fabric.launch(follow=True, verify_transport="fail", script_args=["--seconds", "8"])
    assert done.rc == 0, done.out
    assert "fabric: IB + GDRDMA on 1/8 NICs, 2 nodes" in done.out
    assert fabric.record()["transport"] == "IB + GDRDMA on 1/8 NICs, 2 nodes"
    kept = [path.name for path in (fabric.experiments / RUN_ID).glob("nodes/*/nccl.host.*.log")]
    assert len(kept) == 2
    listed = fabric.verb("list")
    assert "IB + GDRDMA" in listed.out
