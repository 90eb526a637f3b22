# SPDX-License-Identifier: GPL-3.0-or-later
"""The verbs `note` and `compare`, on runs that differ and on a repeat."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import Cluster

RUNS = {"surface_20261120_143052": "1", "surface_20261120_143053": "1", "surface_20261120_143054": "4"}
FIRST, AGAIN, OTHER = RUNS


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, policy={"launch_defaults": {"script": "surface.py", "launcher": "python", "nproc": 1}})
    try:
        yield cluster
    finally:
        cluster.destroy()


def ask(cluster: Cluster, verb: str, **parameters: Any) -> dict[str, Any]:
    """Return the document of a verb that succeeds, which its schema describes."""
    played = cluster.play(f"playbooks/{verb}.yml", "-e", json.dumps({**parameters, "output": "json"}), apart=True)
    assert played.rc == 0, played.err
    document: dict[str, Any] = json.loads(played.out)
    assert documents.errors(document) == []
    return document


def test_runs_that_differ_are_noted_and_compared(cluster: Cluster) -> None:
    for run_id, a in RUNS.items():
        launched = cluster.launch(run_id=run_id, follow=True, env={"A": a, "B": "1", "CURE": "-"})
        assert launched.rc == 0, launched.out
    text = "the {{ loss }} is $(too) high; 'why'?"
    noted = cluster.verb("note", note=text, run_id=OTHER)
    assert noted.rc == 0, noted.out
    assert f"{text} (" in noted.words
    assert cluster.verb("note", note="newest").rc == 0
    collected = cluster.verb("collect", run_id=OTHER)
    assert collected.rc == 0, collected.out
    entries = {entry["run_id"]: entry["notes"] for entry in ask(cluster, "list")["experiments"]}
    assert {run_id: [note["text"] for note in notes] for run_id, notes in entries.items()} == {
        FIRST: [],
        AGAIN: [],
        OTHER: [text, "newest"],
    }
    assert re.search(rf"^{OTHER} .* newest$", cluster.verb("list").out, re.MULTILINE)

    document = ask(cluster, "compare", runs=list(RUNS))
    differing = {(item["part"], item["name"]): item["values"] for item in document["differences"]}
    assert differing == {("environment", "A"): ["1", "1", "4"]}
    assert document["repeats"] == [[FIRST, AGAIN]]
    [loss] = [metric for metric in document["metrics"] if metric["name"] == "loss"]
    assert (loss["values"], loss["changes_percent"]) == ([1.0, 1.0, 4.0], [None, 0.0, 300.0])
    assert (loss["noise"], loss["above_noise"]) == (0.0, [None, False, True])
    shown = cluster.verb("compare", last=2)
    assert re.search(r"^2 +4 \+300\.0 %", shown.out, re.MULTILINE), shown.out

    refused = cluster.verb("compare", runs=f"{FIRST},surface_20261120_143059")
    assert refused.rc == 2
    assert "surface_20261120_143059" in refused.out
    assert "did you mean 'surface_20261120_14305" in refused.words
