# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents that no runner wrote, on every node and on the controller: every verb still answers, and `stop` stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for

NESTED = "[" * 5000
# The states of runs beside the one that is alive; two have a time of creation of another type than it has.
STATES = {
    "multinode_1ch_64th_20200101_000000": NESTED,
    "multinode_1ch_64th_20200101_000001": '{"phase": "running", "started": 5, "ended": []}',
    "multinode_1ch_64th_20200101_000002": '{"phase": "running", "created": 5}',
    "multinode_1ch_64th_20200101_000003": '{"phase": "failed", "created": null}',
}


def plant_states(cluster: Cluster) -> None:
    """Put the states beside the run on every node; the living run's state on one node becomes the first of them."""
    for node in cluster.names:
        for run_id, state in STATES.items():
            cluster.run_dir(node, run_id).mkdir()
            (cluster.run_dir(node, run_id) / "state.json").write_text(state)
    (cluster.run_dir("node1") / "state.json").write_text(NESTED)
    for run_id, state in STATES.items():
        part = cluster.experiments / run_id / "nodes" / "0"
        part.mkdir(parents=True)
        (part / "state.json").write_text(state)
        (cluster.experiments / run_id / "run.yml").write_text(state)


def plant_metrics(metrics: Path) -> None:
    """Add the line to a rank's metrics, and let the rank write some after it."""
    with metrics.open("a") as lines:
        lines.write(f"\n{NESTED}\n")
    size = metrics.stat().st_size
    wait_for(lambda: metrics.stat().st_size > size + 1000, "the rank writes more metrics")


def plant_stop(cluster: Cluster) -> None:
    """Put a stop file without a grace period on a node."""
    nonce = cluster.state("node0")["nonce"]
    (cluster.run_dir("node0") / f"stop.{nonce}").write_text('{"grace": null}')


@pytest.mark.gate
def test_every_verb_answers_beside_damaged_documents(cluster: Cluster) -> None:
    launched = cluster.launch(script_args=["--seconds", "600"])
    assert launched.rc == 0, launched.out
    cluster.wait_phase(RUN_ID, "running")
    wait_for(lambda: all(map(cluster.metrics, cluster.names)), "both ranks write metrics")
    plant_states(cluster)
    plant_metrics(cluster.metrics("node0")[0])

    # Without a run ID, each of these has to choose among all runs.
    status = cluster.verb("status")
    assert (status.rc, status.phases) == (0, {"node0": "running", "node1": "running"}), status.out
    assert RUN_ID in status.out
    logs = cluster.verb("logs")
    assert logs.rc == 0, logs.out
    assert "rank 0 of 2 begins" in logs.out
    listed = cluster.verb("list")
    assert listed.rc == 0, listed.out
    assert all(f"\n{run_id} " in listed.out for run_id in (RUN_ID, *STATES)), listed.out

    plant_stop(cluster)
    stopped = cluster.verb("stop", run_id=RUN_ID)
    assert (stopped.rc, stopped.phases) == (0, {"node0": "stopped", "node1": "stopped"}), stopped.out
    assert cluster.processes() == []
    teardown = cluster.verb("teardown", days=0)
    assert teardown.rc == 0, teardown.out
    # What does not say whose run it is stays.
    for node in cluster.names:
        assert {path.name for path in cluster.run_dir(node).parent.iterdir()} == set(STATES), teardown.out
