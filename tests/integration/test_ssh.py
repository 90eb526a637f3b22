# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes behind ssh: a whole launch that keeps its secrets, and controllers that die while it starts."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import death, sshd
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

pytestmark = pytest.mark.skipif(sshd.missing() is not None, reason=str(sshd.missing()))


@pytest.fixture
def cluster(server: sshd.Sshd, tmp_path: Path) -> Iterator[Cluster]:
    """Two nodes behind ssh."""
    made = Cluster(tmp_path, policy={**death.POLICY, **server.policy()}, per_node=server.per_node())
    yield made
    made.destroy()


@pytest.mark.parametrize("how", ["everything", "interrupt"])
@pytest.mark.parametrize("pipelining", [True, False])
def test_a_controller_dies_between_prepare_and_start(cluster: Cluster, how: str, pipelining: bool) -> None:
    cluster.policy["ansible_pipelining"] = pipelining
    cluster.write()
    death.launch_and_strike(cluster, how)
    death.check_what_is_left(cluster)
    # Whatever the inventory says, the module that is told the secrets was never a file.
    assert death.files_below(cluster.remote_tmp) == []


class Watcher(threading.Thread):
    """Sees every command line of this machine, and keeps what the runners are told in private, while a launch runs."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self._cluster = cluster
        self.kept = cluster.home / "kept"
        self.kept.mkdir()
        self._over = threading.Event()
        self.command_lines: set[str] = set()

    def run(self) -> None:
        while not self._over.wait(0.005):
            for node in self._cluster.names:
                for path in self._cluster.run_dir(node).glob("private.*.json"):
                    # A second name for the file outlives the one that the runner removes.
                    with contextlib.suppress(OSError):
                        os.link(path, self.kept / f"{node}.json")
            self.command_lines.update(map(sshd.command_line, filter(str.isdigit, os.listdir("/proc"))))

    def end(self) -> list[dict[str, Any]]:
        """Stop watching; return what each node's runner was told."""
        self._over.set()
        self.join()
        return [json.loads(path.read_text()) for path in sorted(self.kept.iterdir())]


@pytest.mark.gate
def test_a_launch_does_not_reveal_its_secrets(cluster: Cluster, server: sshd.Sshd) -> None:
    watcher = Watcher(cluster)
    watcher.start()
    try:
        done = cluster.launch("-vvv", "--diff", follow=True, script="confidant.py")
    finally:
        secrets = watcher.end()
    assert done.rc == 0, done.out
    assert [private["secrets"] for private in secrets] == [{"MUSTER_TEST_TOKEN": death.SECRET}] * 2
    keys = {private["key"] for private in secrets}
    assert len(keys) == 1
    key = keys.pop()
    assert len(key) == 64

    # The ranks have the secret ...
    digest = hashlib.sha256(death.SECRET.encode()).hexdigest()
    for rank, node in enumerate(cluster.names):
        assert f"knows {digest}\n" in (cluster.run_dir(node) / f"logs/rank_{rank:02d}.log").read_text()
    # ... and the eyes see: the runner, the rank, the connection; all that was printed, kept and collected.
    command_lines = "\n".join(watcher.command_lines)
    for known in ("runner.pyz", "confidant.py", str(server.base / "cp")):
        assert known in command_lines
    assert "ESTABLISH SSH CONNECTION" in done.out
    assert "MUSTER_NODE" in done.out, "the plan was shown"
    shutil.rmtree(watcher.kept)
    cluster.inventory.unlink()
    for secret in (death.SECRET, key):
        assert secret not in done.out
        assert secret not in command_lines
        assert death.files_with(secret, cluster.home, cluster.local_tmp, server.home) == []
    for node in cluster.names:
        assert {"job.json", "state.json", "logs"} <= set(death.names(cluster.run_dir(node)))
    assert {"plan.json", "run.yml"} <= set(death.names(cluster.experiments / RUN_ID))
