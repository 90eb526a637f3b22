# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `report`, on a run that failed and on a sweep, as a user types it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import aorta, documents
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

FILES = ["report.csv", "report.html", "report.json"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    try:
        yield cluster
    finally:
        cluster.destroy()


def ask(cluster: Cluster, **parameters: Any) -> dict[str, Any]:
    """Return the document of a report, which its schema describes."""
    played = cluster.play("playbooks/report.yml", "-e", json.dumps({**parameters, "output": "json"}), apart=True)
    assert played.rc == 0, played.err
    document: dict[str, Any] = json.loads(played.out)
    assert documents.errors(document) == []
    return document


def written(home: Path) -> list[str]:
    return sorted(path.name for path in home.glob("report.*"))


def test_a_run_that_failed_is_reported(cluster: Cluster) -> None:
    launched = cluster.launch(follow=True, script_args=["--fail-rank", "1", "--how", "exit7"])
    assert launched.rc != 0
    home = cluster.experiments / RUN_ID
    shown = cluster.verb("report")
    assert shown.rc == 0, shown.out
    assert "report.html" in shown.words
    assert written(home) == FILES
    page = (home / "report.html").read_text()
    assert "rank 1 exited with code 7" in page
    assert "rank 1 of 2 begins" in page, "the last words of its log"
    document = ask(cluster, run_id=RUN_ID)
    assert (document["verdict"], [rank["rank"] for rank in document["ranks"]]) == ("failed", [0, 1])
    assert [curve["name"] for curve in document["curves"]] == ["loss", "tokens_per_s"]
    assert document["remarks"] == []
    (home / "report.html").unlink()
    checked = cluster.verb("report", "--check", run_id=RUN_ID)
    assert (checked.rc, written(home)) == (0, ["report.csv", "report.json"]), checked.out


def test_the_telemetry_of_a_run_is_collected_and_reported(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = cluster.home / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    # The facts of the nodes have no GPU.
    query = '[ "${1#--query-gpu=index,utilization.gpu,}" != "$1" ] || exit 9'
    tool.write_text(f"#!/bin/sh\n{query}\necho '0, 97, 612.34, 1755, 2619, 70123, 81559, 64, 0x0000000000000040'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    launched = cluster.launch(follow=True, script_args=["--seconds", "4"])
    assert launched.rc == 0, launched.out
    document = ask(cluster, run_id=RUN_ID)
    times = document["times"]
    assert times["started"] <= times["first_step"] < times["last_step"] <= times["ended"]
    telemetry = document["telemetry"]
    assert [(gpu["node"], gpu["index"]) for gpu in telemetry["gpus"]] == [("node0", 0), ("node1", 0)]
    assert [host["node"] for host in telemetry["hosts"]] == ["node0", "node1"]
    page = (cluster.experiments / RUN_ID / "report.html").read_text()
    assert "GPU 0 on node0: throttled by hw_thermal_slowdown in 100% of the samples" in page


def test_a_sweep_is_reported_anew_and_compared(cluster: Cluster) -> None:
    cluster.policy["launch_defaults"]["script"] = "surface.py"
    cluster.write()
    swept = cluster.verb("sweep", sweep={"env.A": ["1", "2"]}, env={"B": "1", "CURE": "-"}, preflight=False)
    assert swept.rc == 0, swept.out
    [home] = cluster.experiments.glob("sweep_*")
    assert written(home) == FILES
    page = (home / "report.html").read_text()
    for name in FILES:
        (home / name).unlink()
    document = ask(cluster, sweep=home.name)
    assert (document["best"]["value"], document["best"]["parameters"]) == (0.0, {"env.A": "2"})
    assert written(home) == FILES
    assert (home / "report.html").read_text().splitlines()[-1] == page.splitlines()[-1], "the content is the same"
    old = aorta.write_run(cluster.home / "old").name
    assert cluster.verb("import", source=str(cluster.home / "old")).rc == 0
    assert cluster.verb("launch", env={"A": "1", "B": "1", "CURE": "-"}, channels=42, threads=256).rc == 0
    listed = ask(cluster, over=["channels", "threads"])
    assert [point["parameters"]["channels"] for point in listed["points"]] == [28, 42]
    assert listed["points"][0]["run_id"] == old
    again = cluster.verb("sweep", sweep={"env.A": ["2", "3"]}, env={"B": "2", "CURE": "-"}, preflight=False)
    assert again.rc == 0, again.out
    [newer] = [path for path in cluster.experiments.glob("sweep_*") if path != home]
    differences = ask(cluster, sweep=newer.name, against=home.name)["differences"]
    effects = {known["parameters"]["env.A"]: known["effect"] for known in differences}
    assert effects == {"2": "worse", "3": "added", "1": "absent"}
    assert (newer / f"report_against_{home.name}.html").is_file()
    refused = cluster.verb("report", sweep=home.name, run_id=RUN_ID)
    assert (refused.rc, "give one of them" in refused.words) == (2, True)
