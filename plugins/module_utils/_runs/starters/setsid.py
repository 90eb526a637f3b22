# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a runner in a session of its own."""

from __future__ import annotations

import os

from ..._host.host import Host
from ..._records.job import Job
from .base import Starter


class Setsid(Starter):
    """A session of its own, adopted by init when this module ends."""

    name = "setsid"

    def start(self, host: Host, job: Job, argv: list[str]) -> int | None:
        return host.spawn_detached(argv, os.path.join(job.run_dir, "runner.log"), job.workdir)
