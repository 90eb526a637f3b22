# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `import`, and what the verbs that read experiments make of its runs."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.muster.train.tests.integration.test_compare import ask
from ansible_collections.muster.train.tests.support import aorta
from ansible_collections.muster.train.tests.support.cluster import Cluster

OTHER = "multinode_42ch_256th_20251219_150715"


def test_old_runs_are_in_the_list_with_what_was_noted_and_can_be_compared(tmp_path: Path) -> None:
    old = tmp_path / "old"
    aorta.write_run(old)
    aorta.write_run(old, OTHER, ends=(aorta.SUCCESS, aorta.FAILURE), losses=(2.5, 2.0))
    aorta.write_sweep(old)
    cluster = Cluster(tmp_path)
    try:
        checked = cluster.verb("import", "--check", source=str(old))
        assert checked.rc == 0, checked.out
        assert ask(cluster, "list")["experiments"] == []
        document = ask(cluster, "import", source=str(old))
        assert (document["experiments"], document["sweeps"]) == ([aorta.RUN_ID, OTHER], [aorta.SWEEP])
        assert cluster.verb("note", note="new", run_id=aorta.RUN_ID).rc == 0
        again = cluster.verb("import", source=str(old))
        assert again.rc == 0, again.out
        listed = ask(cluster, "list")
        assert listed["sweeps"] == [aorta.SWEEP]
        entries = {entry["run_id"]: entry for entry in listed["experiments"]}
        assert {run_id: entry["verdict"] for run_id, entry in entries.items()} == {
            aorta.RUN_ID: "succeeded",
            OTHER: "failed",
        }
        assert [note["text"] for note in entries[aorta.RUN_ID]["notes"]] == [aorta.NOTE[1], "new"]
        compared = ask(cluster, "compare", runs=[aorta.RUN_ID, OTHER])
        losses = {metric["name"]: metric["values"] for metric in compared["metrics"]}
        assert losses["loss"] == [1.25, 2.0]
    finally:
        cluster.destroy()
