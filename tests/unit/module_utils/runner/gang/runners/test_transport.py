# SPDX-License-Identifier: GPL-3.0-or-later
"""Real runners whose fabric is to be proved: what their ranks log, or do not, decides how the run ends."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import TransportProof
from ansible_collections.muster.train.tests.support.gang import Make, python

pytestmark = pytest.mark.slow

LOG = """
import os
folder, pid = os.path.join(os.environ["MUSTER_RUN_DIR"], "logs"), os.getpid()
rank = int("/nodes/node1/" in folder)
path = os.path.join(folder, f"nccl.n{rank}.{pid}.log")
with open(path, "w") as log:
    for message in (
        "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>",
        "Using network IB",
        f"comm 0x1 rank {rank} nranks 2 cudaDev 0 busId 1b000 - Init COMPLETE",
        f"Channel 00/0 : {1 - rank}[0] -> {rank}[0] [receive] via NET/IB/0/GDRDMA",
    ):
        print(f"n{rank}:{pid}:{pid} [0] NCCL INFO {message}", file=log)
"""


def proof(action: str) -> TransportProof:
    return TransportProof(action, True, ["mlx5_0"], elsewhere=[])


@pytest.mark.parametrize(
    ("action", "code", "verdict", "end"),
    [
        ("fail", "pass", "unknown", ("failed", "transport")),
        ("warn", "pass", "unknown", ("succeeded", None)),
        ("fail", LOG, "pass", ("succeeded", None)),
    ],
)
def test_at_the_end_the_fabric_is_proved_or_the_run_has_failed(
    gang: Make, action: str, code: str, verdict: str, end: tuple[str, Any]
) -> None:
    running = gang(python(code), python(code), launcher="python", transport=proof(action))
    running.start()
    assert running.codes() == [0, 0]
    for rank in range(2):
        known = running.state(rank)["end"]
        assert (known["verdict"], known.get("kind")) == end
    assert running.state(0)["transport"]["verdict"] == verdict
    assert running.state(1)["transport"] is None
