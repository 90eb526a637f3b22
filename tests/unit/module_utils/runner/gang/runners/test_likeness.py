# SPDX-License-Identifier: GPL-3.0-or-later
"""The head during the run, and the controller after it, name the same node as the one that failed first."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge
from ansible_collections.muster.train.tests.support.gang import SLEEP, Make, python
from ansible_collections.muster.train.tests.support.jobs import wait_for

pytestmark = pytest.mark.slow

LAUNCHER = """
import os, sys, time
while not os.path.exists("go"):
    time.sleep(0.05)
sys.exit("torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed.")
"""
# It aborts without a message once its node is stopped.
RANK = """
import json, os, signal, sys, time
def on_sigterm(*_):
    record = {"rank": 1, "local_rank": 0, "code": -6, "time": 1.0, "error": None}
    os.write(int(os.environ["MUSTER_REPORT_FD"]), json.dumps([record]).encode())
    sys.exit(1)
signal.signal(signal.SIGTERM, on_sigterm)
open("up", "w").close()
time.sleep(600)
"""


def test_a_launcher_that_lost_its_peer_is_blamed_by_neither(gang: Make) -> None:
    running = gang(python(LAUNCHER), python(RANK))
    running.start()
    wait_for(Path(running.jobs[1].code_dir, "up").exists, "node1 waits for its stop", 60)
    Path(running.jobs[0].code_dir, "go").touch()
    assert running.codes() == [1, 1]
    states = [running.state(rank) for rank in range(2)]
    assert [state["likeness"] for state in states] == [Likeness.PEER, Likeness.UNCLEAR]
    records = list(map(RunRecord.from_dict, states))
    assert (states[0]["end"]["node"], judge(records).node) == ("node1", "node1")
    # The same where the head's report of the rank is all that is left.
    assert judge([records[0], RunRecord(node="node1", phase="unreachable", why="no route")]).node == "node1"


def test_a_command_that_is_not_there_is_a_failure_of_its_own(gang: Make) -> None:
    running = gang(SLEEP, ["/nonexistent/python"])
    running.start()
    assert running.codes() == [0, 1]
    assert running.state(1)["likeness"] == Likeness.OWN
    assert running.state(0)["gang"]["reports"][0]["likeness"] == Likeness.OWN
