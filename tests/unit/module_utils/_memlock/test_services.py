# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits of the services from which logins, containers and jobs inherit theirs."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._memlock.services import read_services
from ansible_collections.muster.train.plugins.module_utils._records.system import Limit

UNIT = "Id={}\nLoadState=loaded\nMainPID={}\nLimitMEMLOCK=8388608\nNeedDaemonReload=no\n\n"


def test_the_limit_is_that_of_the_process(tmp_path: Path) -> None:
    asked: list[Sequence[str]] = []

    def systemctl(argv: Sequence[str], _timeout: float, _cwd: str | None) -> CommandResult:
        asked.append(argv)
        return CommandResult(0, UNIT.format("ssh.service", os.getpid()) + UNIT.format("docker.service", 0), "")

    soft, hard = (
        -1 if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(resource.RLIMIT_MEMLOCK)
    )
    assert read_services(Host("/", systemctl)) == {"ssh.service": Limit(soft, hard)}
    assert len(asked) == 1
    assert {"sshd.service", f"user@{os.getuid()}.service"} <= {*asked[0]}
    assert read_services(Host(str(tmp_path), systemctl)) is None
    assert len(asked) == 1
