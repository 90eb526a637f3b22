# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a runner as a transient unit of systemd."""

from __future__ import annotations

import os
import resource
import sys

from ..._host.host import Host
from ..._records.job import Job
from ...runner.process_tree import unit_name
from .base import Starter, StartError

START_S = 30.0
# The limits that a unit takes from the login, by systemd's names (systemd.exec(5)); a unit inherits none.
LOGIN_LIMITS = {
    "LimitNOFILE": resource.RLIMIT_NOFILE,
    "LimitNPROC": resource.RLIMIT_NPROC,
    "LimitSTACK": resource.RLIMIT_STACK,
    "LimitCORE": resource.RLIMIT_CORE,
}
# Added in systemd 243; an older one leaves a unit alone whose process the kernel kills.
OOM_POLICY = "OOMPolicy"


def quote(argv: list[str]) -> str:
    """Return a command line as systemd takes it apart again (systemd.service(5), Command lines)."""
    escaped = (word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$") for word in argv)
    return " ".join(f'"{word}"' for word in escaped)


def login_limit(number: int) -> str:
    """Return a limit of this process as systemd takes it, soft:hard."""
    return ":".join(
        "infinity" if limit == resource.RLIM_INFINITY else str(limit) for limit in resource.getrlimit(number)
    )


class SystemdStarter(Starter):
    """A transient unit: outlives the login even where logind kills its processes, and raises the memory lock limit.

    Never ``--setenv``: every user of the host can read a unit's environment.
    """

    def __init__(self, user: bool) -> None:
        self.name = "systemd-user" if user else "systemd"
        self._user = user

    def command(self, job: Job, argv: list[str]) -> list[str]:
        """Return the command line."""
        archive = os.path.join(job.run_dir, "runner.pyz")
        properties = {
            "KillMode": "mixed",
            "TimeoutStopSec": str(job.stop_grace + 15),
            "LimitMEMLOCK": "infinity",
            **{name: login_limit(number) for name, number in LOGIN_LIMITS.items()},
            OOM_POLICY: "continue",  # a rank that the kernel kills is the runner's to report, and no reason to end it
            "WorkingDirectory": job.workdir,
            # Records how a killed runner ended; the dash: a failure here must not fail the unit.
            "ExecStopPost": "-" + quote([sys.executable, archive, job.run_dir, job.nonce, "ended"]),
        }
        unit = unit_name(job.run_id, job.run_dir, job.nonce)
        manager = ["env", f"XDG_RUNTIME_DIR=/run/user/{os.geteuid()}", "systemd-run", "--user"]
        head = [*(manager if self._user else ["systemd-run", "--system"]), "--quiet", "--collect", "--unit", unit]
        # systemd replaces ${NAME} in a unit's words, which here are paths (systemd.service(5), Command lines).
        words = [word.replace("$", "$$") for word in argv]
        return head + ["--property={}={}".format(*item) for item in properties.items()] + ["--"] + words

    def start(self, host: Host, job: Job, argv: list[str]) -> int | None:
        command = self.command(job, argv)
        result = host.run(command, timeout=START_S)
        if result.rc != 0 and OOM_POLICY in result.err:
            older = [word for word in command if not word.startswith(f"--property={OOM_POLICY}=")]
            result = host.run(older, timeout=START_S)
        if result.rc != 0:
            raise StartError(f"systemd-run failed: {result.why(START_S)}")
        return None
