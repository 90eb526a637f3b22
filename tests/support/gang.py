# SPDX-License-Identifier: GPL-3.0-or-later
"""A gang for tests: real runners, one for each node, with directories of their own and the head on loopback."""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.job import GangSettings, Job, Rendezvous
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of, wait_for

KEY = "0123456789abcdef" * 4
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


# Below the kernel's ephemeral ports: a gang's ports stay free until its head listens.
LOWEST_PORT, PORT_BLOCKS, PORTS_PER_GANG = 12000, 900, 8
_blocks = itertools.count(random.SystemRandom().randrange(PORT_BLOCKS))


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def free_ports() -> int:
    """Return the first of some free ports: the runners', and the ranks' of several attempts.

    No other gang of this process has used them recently.
    """
    while True:
        port = LOWEST_PORT + PORTS_PER_GANG * (next(_blocks) % PORT_BLOCKS)
        with contextlib.ExitStack() as held:
            try:
                for number in range(PORTS_PER_GANG):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port + number))
            except OSError:
                continue
            return port


def make_gang(tmp_path: Path, argvs: list[list[str]], **changes: Any) -> list[Job]:
    """Return the jobs of a gang whose nodes run these commands; `lost_after` and `max_restarts` are the gang's.

    The last `spares` of them are spares. With `shared_workdir`, all nodes have the same work directory.
    """
    nnodes = len(argvs) - changes.pop("spares", 0)
    shared = changes.pop("shared_workdir", False)
    port = free_ports()
    names = [f"node{rank}" for rank in range(len(argvs))]
    lost_after, restarts = changes.pop("lost_after", 5), changes.pop("max_restarts", 0)
    return [
        make_job(
            tmp_path / ("shared" if shared else name),
            argvs[rank],
            **{
                "node": name,
                "node_rank": rank,
                "nnodes": nnodes,
                "world_size": nnodes,
                "first_rank": rank,
                "rendezvous": Rendezvous("127.0.0.1", port + 1),
                "gang": GangSettings(port, lost_after, restarts, names if rank == 0 else []),
                "join_timeout": 60,
                **changes,
            },
        )
        for rank, name in enumerate(names)
    ]


@dataclass
class Running:
    """Started runners by node rank; `end` kills those that a test left."""

    jobs: list[Job]
    runners: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    # By node rank, the command that starts a runner in its own network namespace.
    inside: dict[int, list[str]] = field(default_factory=dict)

    def start(self, *ranks: int, key: str = KEY) -> None:
        """Start the runners of these nodes, of all without an argument."""
        for rank in ranks or range(len(self.jobs)):
            Path(self.jobs[rank].workdir).mkdir(parents=True, exist_ok=True)
            private = {"environment": {"PATH": "/usr/bin:/bin"}, "key": key}
            self.runners[rank] = spawn(self.jobs[rank], private, self.inside.get(rank, []))

    def state(self, rank: int) -> dict[str, Any]:
        """Return the state of a node."""
        return state_of(self.jobs[rank])

    def phases(self) -> list[str | None]:
        """Return the phase of each node."""
        return [self.state(rank).get("phase") for rank in range(len(self.jobs))]

    def wait_phase(self, phase: str, *ranks: int) -> None:
        """Wait until these nodes (all) are in the phase."""
        for rank in ranks or range(len(self.jobs)):
            wait_for(functools.partial(self._is, rank, phase), f"node{rank} is {phase}", 60)

    def _is(self, rank: int, phase: str) -> bool:
        return self.state(rank).get("phase") == phase

    def codes(self, seconds: float = 60) -> list[int]:
        """Wait for every started runner; return their exit codes in node-rank order."""
        return [self.runners[rank].wait(seconds) for rank in sorted(self.runners)]

    def end(self) -> None:
        """Kill what is left."""
        for runner in self.runners.values():
            if runner.poll() is None:
                runner.kill()
                runner.wait()


Make = Callable[..., Running]
