# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways a runner is started, by name, and the systemd command line."""

from __future__ import annotations

import resource
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs.starters import systemd
from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError
from ansible_collections.muster.train.plugins.module_utils._runs.starters.registry import STARTERS, starter_named
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.plugin_utils._cluster import starter
from ansible_collections.muster.train.tests.support.jobs import make_job


def test_variables_in_a_unit_are_escaped(tmp_path: Path) -> None:
    command = systemd.SystemdStarter(user=False).command(make_job(tmp_path, ["true"]), ["/usr/bin/env", "A=${HOME}$$"])
    assert command[-2:] == ["/usr/bin/env", "A=$${HOME}$$$$"]


def test_the_node_has_every_starter_that_the_plan_may_name() -> None:
    assert {starter_named(name).name for name in starter.STARTERS} == set(STARTERS)


def test_a_starter_that_is_not_known_is_refused() -> None:
    with pytest.raises(StartError):
        starter_named("cron")


def test_the_unit_raises_memlock_and_carries_no_environment(tmp_path: Path) -> None:
    job = make_job(tmp_path, ["true"], stop_grace=30)
    command = systemd.SystemdStarter(user=False).command(job, ["/usr/bin/env", "A=1", "python3"])
    assert command[:4] == ["systemd-run", "--system", "--quiet", "--collect"]
    assert {"--property=LimitMEMLOCK=infinity", "--property=KillMode=mixed", "--property=TimeoutStopSec=45"} <= {
        *command
    }
    assert command[4:6] == ["--unit", process_tree.unit_name(job.run_id, job.run_dir, job.nonce)]
    assert command[-4:] == ["--", "/usr/bin/env", "A=1", "python3"]
    assert not [word for word in command if word.startswith("--setenv")]
    assert systemd.SystemdStarter(user=True).command(job, [])[2:4] == ["systemd-run", "--user"]


def test_the_unit_carries_the_limits_of_the_login(tmp_path: Path) -> None:
    commands: list[list[str]] = []

    def started(argv: Sequence[str], _timeout: float, _cwd: str | None) -> CommandResult:
        commands.append(list(argv))
        return CommandResult(0, "", "")

    limits = {"NOFILE": resource.RLIMIT_NOFILE, "NPROC": resource.RLIMIT_NPROC, "STACK": resource.RLIMIT_STACK}
    limits["CORE"] = resource.RLIMIT_CORE
    assert systemd.SystemdStarter(user=True).start(Host(run=started), make_job(tmp_path, ["true"]), ["true"]) is None
    for name, number in limits.items():
        soft, hard = ("infinity" if limit == -1 else limit for limit in resource.getrlimit(number))
        assert f"--property=Limit{name}={soft}:{hard}" in commands[0]


def test_the_kernels_kill_of_a_rank_does_not_end_the_unit(tmp_path: Path) -> None:
    commands: list[list[str]] = []

    def older(argv: Sequence[str], _timeout: float, _cwd: str | None) -> CommandResult:
        commands.append(list(argv))
        unknown = any("OOMPolicy" in word for word in argv)
        return CommandResult(int(unknown), "", "Unknown assignment: OOMPolicy=continue\n" if unknown else "")

    job, starter = make_job(tmp_path, ["true"]), systemd.SystemdStarter(user=False)
    assert "--property=OOMPolicy=continue" in starter.command(job, ["true"])
    assert starter.start(Host(run=older), job, ["true"]) is None
    assert commands[1] == [word for word in commands[0] if "OOMPolicy" not in word]


def test_the_unit_records_how_a_killed_runner_ended(tmp_path: Path) -> None:
    job = make_job(tmp_path / 'a "b" $c', ["true"])
    command = systemd.SystemdStarter(user=False).command(job, [])
    line = next(word for word in command if word.startswith("--property=ExecStopPost="))
    program, archive, run_dir, nonce, word = shlex.split(line.partition("=-")[2].replace("$$", "$"))
    assert (program, archive) == (sys.executable, f"{run_dir}/runner.pyz")
    assert (run_dir, nonce, word) == (job.run_dir, job.nonce, "ended")
