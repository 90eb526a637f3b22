# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb pairs on nodes of this machine, and its program between network namespaces, one of which is slow or broken.

MUSTER_PAIRS_TIMES says how often each fault is made (once without it).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import documents, slow_hosts
from ansible_collections.muster.train.tests.support.cluster import WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.play import ROOT

TIMES = range(int(os.environ.get("MUSTER_PAIRS_TIMES", "1")))
SETTINGS = {"rounds": "12", "bytes": str(4 << 20), "tolerance": "50", "pair_limit": "20"}
# What a fault is seen by; each may be seen by others besides.
SEEN = {"delay": "latency", "rate": "bandwidth", "loss": "resent", "mtu": "mtu", "hole": "reach"}
WHY_NOT = slow_hosts.why_not()
needs_namespaces = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


def measure(namespaces: list[str], output: Path) -> dict[str, Any]:
    """Run the ranks, one in each namespace, and return what the first one wrote."""
    words = [word for name, value in SETTINGS.items() for word in (f"--{name}", value)]
    command = [sys.executable, str(WORKLOADS / "pairs.py"), str(output), slow_hosts.address(0), "29500"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "collections"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, ",".join(namespaces), *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads((output / "pairs.json").read_text())
    return document


@pytest.fixture(scope="module")
def namespaces() -> Iterator[list[str]]:
    with slow_hosts.hosts(3) as names:
        yield names


@needs_namespaces
@pytest.mark.timeout(900)
@pytest.mark.parametrize("_time", TIMES)
@pytest.mark.parametrize("kind", [None, *slow_hosts.FAULTS])
def test_the_host_whose_network_is_slow_is_named(
    namespaces: list[str], kind: str | None, _time: int, tmp_path: Path
) -> None:
    enter = ["ip", "netns", "exec", namespaces[1]]
    with slow_hosts.fault(enter, kind) if kind else nullcontext():
        result = measure(namespaces, tmp_path)
    named = [(culprit["kind"], culprit["nodes"]) for culprit in result["culprits"]]
    assert named == ([("node", [1])] if kind else []), result["samples"]
    if kind:
        assert SEEN[kind] in [item["metric"] for item in result["culprits"][0]["deviations"]], result["samples"]


def test_the_verb_measures_nodes_and_keeps_what_it_found(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    try:
        parameters = {"nproc": 2, "bytes": "64K", "output": "json", "rounds": 2}
        command = cluster.command("playbooks/pairs.yml", "-e", json.dumps(parameters))
        done = subprocess.run(
            command, env=cluster.environment(), capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        document = json.loads(done.stdout)
        assert documents.errors(document) == []
        samples = document["pairs"]["samples"]
        # Two nodes make one pair; each of its two rails is measured in each of two rounds.
        assert [(sample["round"], sample["rail"], sample["outcome"]) for sample in samples] == [
            (number, rail, "measured") for number in (1, 2) for rail in (0, 1)
        ]
        assert document["pairs"]["reason"] and document["pairs"]["culprits"] == []
        home = Path(document["experiment"])
        assert json.loads((home / "pairs.json").read_text()) == document["pairs"]
        assert (home / "pairs.html").is_file()
    finally:
        cluster.destroy()
