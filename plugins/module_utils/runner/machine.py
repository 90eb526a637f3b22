# SPDX-License-Identifier: GPL-3.0-or-later
"""What a supervisor takes from its machine. A simulation brings its own."""

from __future__ import annotations

import os
import selectors
import signal

from .._records.job import Job
from . import process_tree
from .attempt.attempt import Attempt
from .attempt.child import adopt_orphans, wake_at_signals
from .attempt.prepared import Prepared
from .disk import DiskThread
from .gang.base import Gang
from .gang.join import join_gang
from .gang.network import GangNetwork


class Machine:
    """The clock and the network, an event loop, the storage, and the start of an attempt."""

    def __init__(self) -> None:
        self.network = GangNetwork()
        self.selector: selectors.BaseSelector = selectors.DefaultSelector()
        self.disk = DiskThread()

    def prepare(self) -> None:
        """Let this process adopt what its children leave, and the event loop wake at signals and the disk's answers."""
        adopt_orphans()
        wake_at_signals(self.selector)
        self.disk.wake(self.selector)

    def join(self, job: Job, key: bytes) -> Gang:
        """Return this node's side of the gang; raise OSError where the head cannot listen."""
        return join_gang(job, key, self.selector, self.network)

    def start_attempt(
        self,
        job: Job,
        run_dir: str,
        number: int,
        environment: dict[str, str],
        prepared: Prepared,
        aside: int | None,
        outside: dict[str, str] | None,
    ) -> Attempt:
        """Start the launcher; raise OSError where it cannot be started."""
        return Attempt(job, run_dir, number, environment, prepared, self.disk, self.selector, aside, outside)

    def kill_all(self) -> None:
        """Send SIGKILL to every process below this one."""
        for process in process_tree.descendants(os.getpid()):
            process_tree.send(process, signal.SIGKILL)
