# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of which containers of ended runs may go, and which stay."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs.prune import judge_containers
from ansible_collections.muster.train.tests.support.ended_runs import DOCKER, Engine, make, prune


def test_containers_of_ended_runs_go(tmp_path: Path) -> None:
    engine = Engine({"muster-a-0": ("exited", "a"), "muster-b-0": ("running", "b"), "muster-c-0": ("created", "c")})
    predicted = prune(tmp_path, days=None, check=True, engine=engine)
    assert len(engine.containers) == 3
    done = prune(tmp_path, days=None, engine=engine)
    assert predicted == done
    assert [item["name"] for item in done["removed"]] == ["muster-a-0", "muster-c-0"]
    assert done["kept"] == [{"kind": "container", "name": "muster-b-0", "why": "it is running: stop the run b first"}]
    assert list(engine.containers) == ["muster-b-0"]
    assert f"label=muster.workdir={os.path.realpath(tmp_path)}" in engine.commands[0]


@pytest.mark.parametrize(
    ("state", "age", "phase", "why"),
    [
        ("created", 60, "prepared", "it was created less than an hour ago: the launch of a may continue"),
        ("created", 3700, "prepared", None),
        ("created", 60, None, None),
        ("exited", 7200, "running", "the run a has no verdict yet: stop it first"),
        ("dead", 7200, "running", "the run a has no verdict yet: stop it first"),
        ("exited", 60, "lost", None),
        ("exited", 60, "succeeded", None),
        ("exited", 60, None, None),
    ],
)
def test_a_container_stays_while_its_run_may_start_or_has_no_verdict(
    tmp_path: Path, state: str, age: float, phase: str | None, why: str | None
) -> None:
    if phase is not None:
        make(tmp_path, "a", 0, phase)
    engine = Engine({"muster-a-0": (state, "a")}, workdir=tmp_path)
    engine.created = time.time() - age
    done = prune(tmp_path, days=None, engine=engine)
    assert done["kept"] == ([{"kind": "container", "name": "muster-a-0", "why": why}] if why else [])
    assert list(engine.containers) == (["muster-a-0"] if why else [])


def test_a_container_without_a_run_is_ignored(tmp_path: Path) -> None:
    assert prune(tmp_path, engine=Engine({"postgres": ("exited", "")}))["removed"] == []


def test_an_engine_that_does_not_answer_is_reported_and_runs_are_still_removed(tmp_path: Path) -> None:
    make(tmp_path, "old", 90)
    done = prune(tmp_path, engine=Engine({}, refuses="permission denied while trying to connect"))
    assert done["engine"] == "permission denied while trying to connect"
    assert done["removed"] == [{"kind": "run", "name": "old"}]
    missing = Host(run=lambda _argv, _timeout, _cwd: CommandResult(None, "", "", missing=True))
    assert judge_containers(missing, str(tmp_path), DOCKER, time.time()) == ([], None)


def test_a_container_that_cannot_be_removed_is_a_failure(tmp_path: Path) -> None:
    done = prune(tmp_path, engine=Engine({"stuck": ("dead", "a")}))
    assert done["failed_on"] == ["container stuck: device busy"]
    assert done["removed"] == []
