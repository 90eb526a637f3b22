# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of which containers of ended runs may go, and which stay."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

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
    assert [(item["kind"], item["name"]) for item in done["kept"]] == [("container", "muster-b-0")]
    assert list(engine.containers) == ["muster-b-0"]
    assert f"label=muster.workdir={os.path.realpath(tmp_path)}" in engine.commands[0]


STAYS: list[tuple[str, float, str | None]] = [
    ("running", 7200, "running"),
    ("created", 60, "prepared"),
    ("exited", 7200, "running"),
    ("dead", 7200, "running"),
]
GOES = [("created", 3700, "prepared"), ("created", 60, None), ("exited", 60, "lost"), ("exited", 60, "succeeded")]


def kept(root: Path, state: str, age: float, phase: str | None) -> list[dict[str, Any]]:
    """What is kept of a container in this state, so many seconds old, of a run in this phase."""
    if phase is not None:
        make(root, "a", 0, phase)
    engine = Engine({"muster-a-0": (state, "a")}, workdir=root)
    engine.created = time.time() - age
    done = prune(root, days=None, engine=engine)
    assert [item["name"] for item in done["kept"]] == list(engine.containers)
    return list(done["kept"])


@pytest.mark.parametrize(("state", "age", "phase"), [*STAYS, *GOES, ("exited", 60, None)])
def test_a_container_stays_while_its_run_may_start_or_has_no_verdict(
    tmp_path: Path, state: str, age: float, phase: str | None
) -> None:
    assert len(kept(tmp_path, state, age, phase)) == int((state, age, phase) in STAYS)


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
