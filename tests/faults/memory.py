# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank needs more memory than its runner's unit or container may have."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.memory import small_group

LIMIT = 256 << 20


def runs_out(home: Path, turn: random.Random) -> float:
    bad = turn.randrange(gangs.NODES)
    running = gangs.make(home)
    with small_group(LIMIT) as inside:
        running.inside[bad] = inside
        with gangs.started(running):
            wait_for(lambda: gangs.ranks_run(running, range(gangs.NODES)), "all ranks run", gangs.PATIENCE_S)
            running.wait_phase("running")
            began = time.monotonic()
            rank = gangs.send_to_a_rank(running, bad, turn, signal.SIGUSR2)
            seconds = gangs.wait_for_end(running, began)
            verdict = gangs.check(running, ["failed"], bad, rank)
    why = f"node{bad}: rank {rank} killed by SIGKILL: out of memory, the kernel killed 1 process of this node"
    assert str(verdict.why).startswith(why), verdict.why
    assert verdict.cause is not None and verdict.cause.oom_killed, verdict.cause
    return seconds
