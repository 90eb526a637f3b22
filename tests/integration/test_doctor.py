# SPDX-License-Identifier: GPL-3.0-or-later
"""`doctor` on the real logs of a run that failed, and on a log that somebody has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.tests.support import documents
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"


def diagnosed(cluster: Cluster, **parameters: Any) -> dict[str, Any]:
    settings = json.dumps({**parameters, "output": "json"})
    shown = cluster.play("playbooks/doctor.yml", "-e", settings, apart=True)
    document: dict[str, Any] = json.loads(shown.out)
    assert documents.errors(document) == []
    assert (shown.rc, document["failed"]) == (0, False), document["errors"]
    return document


def test_the_cause_and_what_followed_are_told_apart(cluster: Cluster, tmp_path: Path) -> None:
    failed = cluster.launch(follow=True, script="out_of_memory.py", launcher="torchrun")
    assert failed.rc == 2, failed.out
    document = diagnosed(cluster)
    cause, *others = document["diagnoses"]
    assert (document["run_id"], cause["name"], cause["kind"]) == (RUN_ID, "cuda_out_of_memory", "cause")
    assert {(place["node"], place["rank"], place["file"]) for place in cause["places"]} == {
        ("node1", 1, "ranks/rank_01.log")
    }
    # The report of the launch says the fix, and not the cause, which the exception has said.
    assert f"\n  what to do: {cause['fix']}\n" in failed.out
    assert cause["cause"] not in failed.out
    assert {one["kind"] for one in others} <= {"consequence", "notice"}
    assert cause["cause"].split()[-1] in cluster.verb("doctor", run_id=RUN_ID).out
    log = tmp_path / "kernel.log"
    log.write_text(f"kernel: usb 1-1: new device\nkernel: {XID}", encoding="utf-8")
    (diagnosis,) = diagnosed(cluster, file=str(log))["diagnoses"]
    assert (diagnosis["name"], diagnosis["places"][0]["line"]) == ("xid_79", 2)
