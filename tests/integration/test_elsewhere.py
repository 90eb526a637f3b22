# SPDX-License-Identifier: GPL-3.0-or-later
"""Launched from another directory than the checkout: the commands that are offered work where they are offered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.play import ROOT, Played, run_to_end, search_path

LAUNCH = "ansible-playbook -i {} {} -e run_id={} -e follow=false -e script_args=--seconds=600"


@pytest.mark.skipif(
    any(Path(path, "ansible_collections/muster").exists() for path in ("/usr/share/ansible/collections",)),
    reason="the collection is installed on this machine",
)
def test_the_suggested_commands_work(cluster: Cluster) -> None:
    elsewhere = cluster.home / "else where"
    elsewhere.mkdir()
    kept = {name: value for name, value in cluster.environment().items() if not name.startswith("ANSIBLE_")}
    mine = {"HOME": str(cluster.home), "PATH": search_path(), "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"}
    environment = {**kept, **mine}

    def typed(command: str) -> Played:
        return run_to_end(["sh", "-c", command], environment, elsewhere)

    def offered(played: Played, title: str) -> str:
        assert played.rc == 0, played.out
        match = re.search(rf"^  {title}: +(.*)$", played.out, re.MULTILINE)
        assert match, played.out
        return match[1]

    launched = typed(LAUNCH.format(cluster.inventory, ROOT / "launch.yml", RUN_ID))
    status = typed(offered(launched, "status"))
    assert status.phases == {"node0": "running", "node1": "running"}, status.out
    stopped = typed(offered(status, "stop"))
    assert (stopped.rc, stopped.phases) == (0, {"node0": "stopped", "node1": "stopped"}), stopped.out
