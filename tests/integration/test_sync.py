# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`launch -e sync=true`: from an edit on the controller to a run on every node with one command."""

from __future__ import annotations

import shutil

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

pytestmark = pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")


@pytest.mark.gate
def test_a_launch_brings_what_was_edited(cluster: Cluster) -> None:
    source = cluster.home / "source"
    (source / "package").mkdir(parents=True)
    (source / "train.py").write_text("from package.words import WORDS\nprint(WORDS)\n")
    words = source / "package" / "words.py"
    cluster.policy.update(
        code_source="rsync",
        code_rsync_path=str(source),
        launch_code_dir=str(cluster.home / "code") + "/{{ inventory_hostname }}",
        launch_defaults={"script": "train.py", "launcher": "python", "nproc": 1},
    )
    cluster.write()

    changes = []
    for number, text in enumerate(("first words", "other words", "other words")):
        if number != 2:
            words.write_text(f"WORDS = {text!r}\n")
        launched = cluster.launch(run_id=f"{RUN_ID}{number}", follow=True, sync=True)
        assert launched.rc == 0, launched.out
        for node in cluster.names:
            assert (cluster.home / "code" / node / "package" / "words.py").read_text() == words.read_text()
        assert text in cluster.play("playbooks/logs.yml", "-e", f"run_id={RUN_ID}{number}").out
        changes.append(launched.changed["node1"])
    # What has not changed is not copied again.
    assert changes[0] >= changes[1] > changes[2]


def test_code_without_a_source_is_refused(cluster: Cluster) -> None:
    launched = cluster.launch(sync=True)
    assert launched.rc == 2
    assert "code_source is none" in " ".join(launched.messages)
    assert list(cluster.experiments.iterdir()) == []
