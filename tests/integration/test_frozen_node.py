# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that has frozen: its connection is accepted and nothing answers; the head says what it knows of the others."""

from __future__ import annotations

import re
import shutil
import signal
import socket
from collections.abc import Iterator

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.plugin_utils._verbs import find
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh not found: apt install openssh-client")
LATE = f"no answer within {find.ANSWER_S} s"


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port at which the kernel accepts connections for a process that never reads them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def test_a_frozen_node_is_asked_once_and_named(cluster: Cluster, silent_port: int) -> None:
    cluster.names = ["node0", "node1", "node2"]
    cluster.write()
    launched = cluster.launch(script_args=["--seconds", "3000"])
    assert launched.rc == 0, launched.out
    cluster.wait_phase(RUN_ID, "running")
    runner = process_tree.look(int(cluster.state("node2")["pid"]))
    assert runner is not None
    process_tree.send(runner, signal.SIGSTOP)
    cluster.per_node = {
        "node2": {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": silent_port}
    }
    cluster.write()
    cluster.wait_phase(RUN_ID, "stopped", "node0", "node1")
    status = cluster.verb("status")
    assert status.rc == 0, status.out
    assert status.phases == {"node0": "stopped", "node1": "stopped", "node2": "unreachable"}
    assert " ".join(status.out.split()).count(LATE) >= 1, status.out
    assert f"{RUN_ID}  lost · 3 ranks on 3 nodes" in status.out
    assert re.search(r"^node2 +2 +unreachable +2 ", status.out, re.MULTILINE), "the head knows its rank"

    # A stop does not say that all is well: what runs there was not reached.
    stopped = cluster.verb("stop")
    assert stopped.rc != 0, stopped.out
    printed = " ".join(stopped.out.split())
    assert f"node2: answer: {LATE}; expected an answer within seconds" in printed
    assert "node2: the run was not reached; fix that and repeat the command" in printed

    process_tree.send(runner, signal.SIGCONT)
    cluster.per_node = {}
    cluster.write()
    stopped = cluster.verb("stop")
    assert stopped.rc == 0, stopped.out
    assert cluster.processes() == []
