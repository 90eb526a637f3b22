# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile files in a run's directories: the run succeeds, the verbs answer, and only files of the run are collected."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.muster.train.tests.support import hostile_files
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

ARGUMENTS = [
    *(f"{kind}={kind}" for kind in hostile_files.KINDS),
    *("fifo=rank_00_metrics.jsonl", "ones=events.out.tfevents.1700000000.host", "fifo=metrics.csv"),
    *("deep=checkpoints", "fifo=../logs/rank_07.log", "link=../errors/rank_00.json", "nested=trace.json"),
]


def test_the_verbs_answer_beside_hostile_files(cluster: Cluster) -> None:
    cluster.policy["launch_code_dir"] = str(Path(hostile_files.__file__).parent)
    cluster.write()
    launched = cluster.launch(follow=True, script="hostile_files.py", script_args=ARGUMENTS)
    assert (launched.rc, cluster.record()["verdict"]) == (0, "succeeded"), launched.out
    for verb in ("status", "logs", "report", "doctor", "list"):
        played = cluster.verb(verb, run_id=RUN_ID)
        assert played.rc == 0, (verb, played.out)
    collected = [path for path in (cluster.experiments / RUN_ID).rglob("*") if not path.is_dir()]
    assert {path.name for path in collected} >= {"binary", "empty", "nested", "zeros"}
    assert [path for path in collected if path.is_symlink() or not path.is_file()] == []
    torn = cluster.verb("teardown", days=0)
    assert torn.rc == 0, torn.out
    assert [list(cluster.run_dir(node).parent.iterdir()) for node in cluster.names] == [[], []], torn.out
