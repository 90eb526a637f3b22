# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs that ended some days ago, and an engine with their containers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import EllipsisType
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs.prune import prune as prune_runs
from ansible_collections.muster.train.plugins.module_utils._text.stamps import utc

DAY = 86400
# For ages of days: it is as old as the whole run of the tests.
NOW = time.time()
DOCKER = ["sudo", "-n", "docker"]


class Engine:
    """An engine with these containers: name -> (state, run id); they were made an hour and a half ago."""

    def __init__(self, containers: dict[str, tuple[str, str]], refuses: str = "", workdir: Path | None = None) -> None:
        self.containers = containers
        self.refuses = refuses
        self.runs = (workdir or Path("/nowhere")) / ".muster" / "nodes" / "node0" / "runs"
        self.created = time.time() - 5400
        self.commands: list[list[str]] = []

    def run(self, argv: Sequence[str], timeout: float, cwd: str | None) -> CommandResult:
        self.commands.append(list(argv))
        assert list(argv[: len(DOCKER)]) == DOCKER
        verb = argv[len(DOCKER)]
        if verb == "ps":
            if self.refuses:
                return CommandResult(1, "", f"{self.refuses}\n")
            made = time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC", time.gmtime(self.created))
            rows = [
                f"{name}\t{state}\t{made}\t{run_id}\t{self.runs / run_id}\n"
                for name, (state, run_id) in self.containers.items()
            ]
            return CommandResult(0, "".join(rows), "")
        assert verb == "rm"
        assert "-f" not in argv and "--force" not in argv
        name = argv[-1]
        if name == "stuck":
            return CommandResult(1, "", "Error response from daemon: device busy\n")
        del self.containers[name]
        return CommandResult(0, f"{name}\n", "")


def make(workdir: Path, run_id: str, days: float, phase: str = "succeeded", **state: Any) -> Path:
    """A run directory that ended so many days ago."""
    path = workdir / ".muster" / "nodes" / "node0" / "runs" / run_id
    (path / "logs").mkdir(parents=True)
    (path / "logs" / "rank_00.log").write_text("hello\n")
    known = {"run_id": run_id, "phase": phase, "ended": utc(time.time() - days * DAY), **state}
    (path / "state.json").write_text(json.dumps(known))
    set_times(path, time.time() - days * DAY)
    return path


def set_times(path: Path, moment: float) -> None:
    for name in (*path.iterdir(), path):
        os.utime(name, (moment, moment))


def prune(
    workdir: Path,
    days: int | None = 30,
    check: bool = False,
    engine: Engine | None = None,
    now: float | None = None,
    controller: float | EllipsisType | None = ...,
) -> dict[str, Any]:
    """Remove what is old; both clocks are right by default."""
    clock = time.time() if now is None else now
    host = Host(run=engine.run) if engine else Host()
    return prune_runs(
        host,
        str(workdir),
        "node0",
        days=days,
        containers=engine is not None,
        docker=DOCKER,
        now=clock,
        controller=clock if isinstance(controller, EllipsisType) else controller,
        check=check,
    )
