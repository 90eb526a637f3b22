# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller dies at any moment of a real launch: the run continues on all nodes, or ends within a minute."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.faults.gangs import DOCKER
from ansible_collections.muster.train.tests.support import death
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for

NODES = ["node0", "node1", "node2"]
GRACE = 5
# How often it dies before any node has a job, and within how many seconds.
EARLY, EARLY_S = 0.15, 3.0
# The time from the first job to the end of the launch, as a share of the time before the first job.
STARTING = 0.22
# Generous: a launch on an idle machine takes some seconds.
LAUNCH_S = 180.0
# A runner waits for its gang for a minute, and needs some time to end.
GONE_S = 75.0
# By then, the last task of a dead controller has started what it starts.
QUIET_S = 2.0


def dies(home: Path, turn: random.Random) -> float:
    """Kill the controller; return the seconds until the run ran on all nodes or on none."""
    # Each round has its own ports.
    low = 20000 + turn.randrange(600) * 20
    policy = {"launch_port_range": f"{low}-{low + 19}", "launch_experiments_dir": str(home / "experiments")}
    cluster = Cluster(home, NODES, policy=policy)
    try:
        controller = cluster.begin("launch", follow=False, script_args="--seconds 3000")
        _wait_for_the_moment(cluster, controller, turn)
        began = time.monotonic()
        if controller.poll() is None:
            death.strike(controller, "everything" if turn.random() < 0.7 else "alone")
        controller.communicate(timeout=LAUNCH_S)
        seconds = _settle(cluster, began)
        _stop(cluster, by_verb=turn.random() < 0.1)
        return seconds
    finally:
        cluster.destroy()


def _wait_for_the_moment(cluster: Cluster, controller: subprocess.Popen[str], turn: random.Random) -> None:
    if turn.random() < EARLY:
        time.sleep(turn.random() * EARLY_S)
        return
    begun = time.monotonic()
    wait_for(lambda: _jobs(cluster) or controller.poll() is not None, "a job is laid out", LAUNCH_S)
    limit = time.monotonic() + turn.random() * STARTING * (time.monotonic() - begun)
    while time.monotonic() < limit and controller.poll() is None:
        time.sleep(0.005)


def _jobs(cluster: Cluster) -> bool:
    return any(death.names(cluster.run_dir(node)) for node in cluster.names)


def _settle(cluster: Cluster, began: float) -> float:
    """Wait until the run stays on all nodes or on none; return the seconds until then."""
    since = began
    while time.monotonic() - began < GONE_S:
        phases = [cluster.state(node).get("phase") for node in cluster.names]
        whole = phases == ["running"] * len(NODES) or not cluster.processes()
        if not whole:
            since = time.monotonic()
        elif time.monotonic() - since >= QUIET_S:
            assert len({cluster.state(node).get("nonce") for node in cluster.names if phases[0] == "running"}) <= 1
            return since - began
        time.sleep(0.1)
    raise AssertionError(f"after {GONE_S:.0f} s it runs neither on all nodes nor on none: {death.phases(cluster)}")


def _stop(cluster: Cluster, by_verb: bool) -> None:
    """Stop the run by the verb or as its module does; then no process is left, and no secret on any disk."""
    # The verb fails where no node has the run.
    if by_verb and any(cluster.run_dir(node).exists() for node in cluster.names):
        stopped = cluster.verb("stop")
        assert stopped.rc == 0, stopped.out
    else:
        for node in cluster.names:
            workdir = str(cluster.home / "work" / node)
            stop(Host(), node, workdir, RUN_ID, None, GRACE, False, DOCKER)
    left = cluster.processes()
    assert left == [], f"{len(left)} processes are left after stop: {[process_tree.command(p.pid) for p in left]}"
    laid_out = [name for node in cluster.names for name in death.names(cluster.run_dir(node)) if "private" in name]
    assert laid_out == [], f"prepared files are left: {laid_out}"
