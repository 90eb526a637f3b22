# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of runs on a node, and why they are not started or removed: tests/screens/messages/runs.txt."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host, Owner
from ansible_collections.muster.train.plugins.module_utils._records.hidden import HiddenRuns
from ansible_collections.muster.train.plugins.module_utils._records.path_part import PathPart
from ansible_collections.muster.train.plugins.module_utils._runs import files, read, start
from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError
from ansible_collections.muster.train.plugins.module_utils._runs.starters.docker import Docker
from ansible_collections.muster.train.plugins.module_utils._runs.starters.registry import starter_named
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.tests.support.ended_runs import make
from ansible_collections.muster.train.tests.support.jobs import RUNNER, make_job, prepare
from ansible_collections.muster.train.tests.support.screens import Message, kept, page_of
from ansible_collections.muster.train.tests.unit.module_utils._runs import (
    test_job_container,
    test_prune,
    test_prune_containers,
    test_read,
    test_start,
)
from ansible_collections.muster.train.tests.unit.module_utils._runs.test_job_container import Engine


class Strange(Host):
    """This machine, but all belongs to root, except one path, which another user has or which is a link."""

    def __init__(self, path: Path, has_link: bool = False) -> None:
        super().__init__()
        self.path, self.has_link = str(path), has_link

    def owner(self, path: str) -> Owner | None:
        return super().owner(path) and Owner(0o755, 4711 if path == self.path else 0, 0)

    def is_link(self, path: str) -> bool:
        return self.has_link and path == self.path


def refusal(act: Callable[..., object], *arguments: Any) -> list[str]:
    """What is said where something is refused."""
    try:
        act(*arguments)
    except (StartError, ValueError) as error:
        return [str(error)]
    return []


def of_reading(roots: Callable[[], Path]) -> Iterator[Message]:
    for name, case in test_read.JUDGED.items():
        yield f"run: {name}", [str(test_read.judged(*case[:4])[1])]
    for name, values in test_read.ENDS.items():
        yield f"unit: {name}", [str(test_read.ended(roots(), *values).why)]
    yield "run IDs", [line for name in test_read.PATHS for line in refusal(read.run_directory, "/w", "node0", name)]
    yield "run: it is hidden", [HiddenRuns("/w/.muster", "root", "nobody").describe()]
    root = roots()
    hosts = [Strange(test_read.finished_run(root)), Strange(root), Strange(root / ".muster", has_link=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 0)
        whys = [read.read_run(host, "node0", str(root), "test_run", ["docker"]).why for host in hosts]
    yield "run: another user has a part of the path, or all of it; or it has a link", map(str, whys)
    make(root, "odd", 0).joinpath("logs", "a\n").touch()
    listed, _remaining = files.list_files(Host(), files.RunPaths(str(root / test_prune.RUNS / "odd")))
    yield "run: a name that cannot be copied", [f"{file['path']}: {file['stays']}" for file in listed if file["stays"]]


def of_start(roots: Callable[[], Path]) -> Iterator[Message]:
    yield "secrets", [line for secrets in test_start.INVALID for line in refusal(start.check_secrets, secrets)]
    yield "starter", refusal(starter_named, "cron")
    yield "start: another user's directory", [PathPart("/w", 4711, 0o755).danger_for("root")]
    root = roots()
    root.mkdir()
    (root / ".muster").symlink_to("elsewhere")
    why = refusal(start.start, Host(), make_job(root, []), RUNNER)
    yield "start: a link", [line.replace(f"uid {os.geteuid()}", "uid 1000") for line in why]
    job = make_job(roots(), test_start.SLEEP, starter="systemd")
    yield "start: systemd without a bus", refusal(start.start, test_start.BOOTED, job, RUNNER)
    job = make_job(roots(), ["/nonexistent/python"])
    yield "start: a command that is not there", refusal(start.start, Host(), job, RUNNER)
    prepare(job := make_job(roots(), test_start.SLEEP))
    run = stop(Host(), job.node, job.workdir, job.run_id, None, 1, False, ["docker"])[1]
    yield "stop: before the start", [str(run.why)]


def of_containers(roots: Callable[[], Path]) -> Iterator[Message]:
    job = test_job_container.lost(roots())
    labels = test_job_container.labels_of(job)
    engines = {
        "a stranger's container": Engine({**labels, "muster.run_dir": "/elsewhere"}),
        "a running container": Engine(labels, Running=True),
        "a faster launch": Engine({**labels, "muster.nonce": "f" * 32}, Running=True),
        "no space": Engine(),
    }
    engines["no space"].run_answer = CommandResult(1, "", "Error response from daemon: no space\n")
    for name, engine in engines.items():
        yield f"container: {name}", refusal(Docker().start, engine.host, job, ["/usr/bin/env"])
    late = test_job_container.in_container(roots(), join_timeout=0)
    yield "container: ended at once", [str(test_job_container.refused_start(Engine(), late))]
    for name, state in test_job_container.ENDS.items():
        run = read.read_run(Engine(labels, **state).host, job.node, job.workdir, job.run_id, ["docker"])
        yield f"container of a lost run: {name}", [str(run.why)]
    run = stop(Engine(labels).host, job.node, job.workdir, job.run_id, None, 1, False, ["docker"])[1]
    yield "stop: a lost run", [str(run.why)]


def of_removal(roots: Callable[[], Path]) -> Iterator[Message]:
    acts = {**test_prune.STAYS, "it is laid out": test_prune.just_laid_out}
    acts["something is mounted"] = lambda root: test_prune.mounted_in(root, "/logs")
    for name, act in acts.items():
        yield f"removal: {name}", [f"{item['kind']} {item['name']}: {item['why']}" for item in act(roots())["kept"]]
    yield "removal: a runner has started", [str(test_prune.started_after_the_check(roots()))]
    for state, age, phase in test_prune_containers.STAYS:
        items = test_prune_containers.kept(roots(), state, age, phase)
        yield f"removal: a container that is {state} of a run that is {phase}", [item["why"] for item in items]


def test_what_is_said_of_runs(tmp_path: Path) -> None:
    roots = partial(next, (tmp_path / str(number) for number in itertools.count()))
    text = page_of(itertools.chain(of_reading(roots), of_start(roots), of_containers(roots), of_removal(roots)))
    text = re.sub(rf"{tmp_path}/[0-9]+", "/node", text)
    assert text == kept("messages/runs.txt", text)
