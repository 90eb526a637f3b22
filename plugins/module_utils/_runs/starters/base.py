# SPDX-License-Identifier: GPL-3.0-or-later
"""What a way to start a runner is."""

from __future__ import annotations

import os

from ..._host.host import Host
from ..._records.job import Job
from ..._records.likeness import Likeness
from ..._records.run import StartRefusal

LAST_LINES = 20


class StartError(Exception):
    """The job did not start; the message says why, `tail` holds the last lines of its log.

    likeness is how much this looks like the cause, where other nodes did not start either.
    """

    def __init__(self, message: str, tail: list[str] | None = None, likeness: Likeness = Likeness.OWN) -> None:
        super().__init__(message)
        self.tail = tail or []
        self.likeness = likeness


class NotBegun(StartError):
    """The runner may not begin, because another launch holds the slot or the run."""

    def __init__(self, refusal: StartRefusal) -> None:
        super().__init__(str(refusal.why))
        self.refusal = refusal


class Starter:
    """A way to start the runner detached from Ansible; `name` is what the state records.

    look_every: seconds between two checks whether the runner is still there.
    """

    name = ""
    look_every = 0.05

    def start(self, host: Host, job: Job, argv: list[str]) -> int | None:
        """Start argv; return the pid when it is a child of this process."""
        raise NotImplementedError

    def ended(self, host: Host, job: Job, pid: int | None) -> str | None:
        """Return how the runner ended, None while it lives or where that is not known."""
        return "it exited immediately" if pid is not None and host.child_ended(pid) else None

    def last_words(self, host: Host, job: Job) -> list[str]:
        """Return the last lines of a runner that did not begin."""
        log = host.read_text(os.path.join(job.run_dir, "runner.log")) or ""
        return log.splitlines()[-LAST_LINES:]

    def clean(self, host: Host, job: Job) -> None:
        """Remove what a start that failed has left beside its files."""
