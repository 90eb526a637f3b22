# SPDX-License-Identifier: GPL-3.0-or-later
"""shell prints a command that enters the node of a rank when it is typed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support import documents, sshd
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, WORKLOADS, Cluster
from ansible_collections.muster.train.tests.support.play import Played
from ansible_collections.muster.train.tests.support.terminal import command_on_terminal

pytestmark = pytest.mark.skipif(sshd.missing() is not None, reason=str(sshd.missing()))


@pytest.fixture
def behind_ssh(tmp_path: Path) -> Iterator[Cluster]:
    """Two nodes behind ssh, on a port and with a key of their own."""
    base = Path(tempfile.mkdtemp(prefix="muster-"))
    try:
        with sshd.running(base) as server:
            made = Cluster(tmp_path, policy=server.policy(), per_node=server.per_node())
            yield made
            made.destroy()
    finally:
        shutil.rmtree(base)


def document(cluster: Cluster, **parameters: Any) -> dict[str, Any]:
    asked = json.dumps({"output": "json", **parameters})
    read: dict[str, Any] = json.loads(cluster.play("playbooks/shell.yml", "-e", asked, apart=True).out)
    assert documents.errors(read) == []
    return read


def typed(cluster: Cluster, line: str) -> Played:
    """Type the line, then commands where it leads."""
    keys = [b"pwd; echo address=$SSH_CONNECTION; exit\n"]

    def press(screen: str) -> bytes:
        return keys.pop() if keys and re.search(r"[$#%>] ?\Z", screen) else b""

    environment = cluster.environment(TERM="dumb", PS1="$ ", SHELL="/bin/sh")
    return command_on_terminal(["/bin/sh", "-c", line], environment, press)


@pytest.mark.gate
def test_the_command_enters_the_node_of_the_rank(behind_ssh: Cluster) -> None:
    launched = behind_ssh.launch(script_args=["--seconds", "600"])
    assert launched.rc == 0, launched.out
    before = behind_ssh.identities()
    played = behind_ssh.verb("shell", rank=1)
    assert played.rc == 0, played.out
    assert f"rank 1 of {RUN_ID} (running) is on node1, in {WORKLOADS}" in played.out
    answer = document(behind_ssh, rank=1)
    assert (answer["node"], answer["rank"], answer["container"]) == ("node1", 1, None)
    assert f"  {answer['line']}\n" in played.out
    assert shlex.split(answer["line"]) == answer["argv"]
    entered = typed(behind_ssh, answer["line"])
    assert str(WORKLOADS) in entered.out.splitlines(), entered.out
    assert re.search(
        rf"^address=.* {re.escape(sshd.ADDRESSES[1])} {behind_ssh.policy['ansible_port']}$", entered.out, re.M
    )
    assert behind_ssh.identities() == before
    # Of the node that is named, whatever it has of the run.
    assert document(behind_ssh, node="node0")["argv"][-2].endswith(f"@{sshd.ADDRESSES[0]}")


def test_a_plan_that_only_the_head_has_and_a_rank_that_is_none(cluster: Cluster) -> None:
    assert cluster.launch(follow=True).rc == 0
    shutil.rmtree(cluster.experiments)
    answer = document(cluster, rank=1)
    assert (answer["failed"], answer["node"], answer["directory"]) == (False, "node1", str(WORKLOADS))
    entered = typed(cluster, answer["line"])
    assert str(WORKLOADS) in entered.out.splitlines(), entered.out
    beyond = document(cluster, rank=2)
    assert beyond["errors"][0]["message"] == "rank: expected 0 to 1, the ranks of this run, saw 2 (-e rank)"
    neither = document(cluster)
    assert neither["errors"][0]["message"].startswith("rank: expected a rank or a node, saw neither; give ")
