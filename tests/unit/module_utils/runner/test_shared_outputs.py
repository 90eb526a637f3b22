# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of outputs that nodes share: who makes it, and who finds out that it is not shared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils.runner import files, shared_outputs
from ansible_collections.muster.train.plugins.module_utils.runner.claim import Refused
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of


def job_of(tmp_path: Path, rank: int = 0, folder: str = "shared", **changes: Any) -> Job:
    run_id = str(changes.get("run_id", "test_run"))
    (tmp_path / folder).mkdir(exist_ok=True)
    place = {"node": f"node{rank}", "node_rank": rank, "nnodes": 2, "output_dir": str(tmp_path / folder / run_id)}
    return make_job(tmp_path, changes.pop("argv", ["true"]), **place, **changes)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_outputs, "PATIENCE_S", 0.0)


def test_only_a_directory_outside_the_run_is_shared(tmp_path: Path) -> None:
    assert not make_job(tmp_path, ["true"]).shares_outputs
    assert job_of(tmp_path).shares_outputs


def test_every_node_makes_it_and_sees_the_head(tmp_path: Path) -> None:
    head, member = job_of(tmp_path), job_of(tmp_path, 1)
    for job in (member, head, member):
        shared_outputs.lay_out(job)
    for job in (head, member):
        shared_outputs.check(job)
    assert list(Path(head.output_dir).iterdir()) == [], "some programs want an empty directory"


def test_a_directory_of_its_own_is_found_out(tmp_path: Path) -> None:
    shared_outputs.lay_out(job_of(tmp_path))
    member = job_of(tmp_path, 1, "other")
    shared_outputs.lay_out(member)
    with pytest.raises(OSError, match=f"{tmp_path}/other"):
        shared_outputs.check(member)


def test_a_mark_of_an_earlier_launch_does_not_count_and_is_removed(tmp_path: Path) -> None:
    shared_outputs.lay_out(job_of(tmp_path, nonce="b" * 32))
    with pytest.raises(OSError, match=f"{tmp_path}/shared"):
        shared_outputs.check(job_of(tmp_path, 1))
    shared_outputs.lay_out(job_of(tmp_path, run_id="test_run.2"))
    shared_outputs.lay_out(job_of(tmp_path))
    shared_outputs.check(job_of(tmp_path, 1))
    shared_outputs.check(job_of(tmp_path, 1, run_id="test_run.2"))
    assert len(list((tmp_path / "shared").glob(".muster+*"))) == 2


def test_a_restart_makes_again_what_a_cleaner_removed(tmp_path: Path) -> None:
    head = job_of(tmp_path)
    shared_outputs.lay_out(head)
    files.remove_tree(str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    shared_outputs.check(head)
    shared_outputs.check(job_of(tmp_path, 1))


def test_a_directory_that_cannot_be_this_runs_is_refused(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    Path(job.output_dir).symlink_to("/tmp")
    with pytest.raises(Refused, match=job.output_dir):
        shared_outputs.lay_out(job)
    Path(job.output_dir).unlink()
    (tmp_path / "shared").rmdir()
    with pytest.raises(Refused, match=f"{tmp_path}/shared "):
        shared_outputs.lay_out(job)


@pytest.mark.slow
def test_a_runner_refuses_a_missing_directory_and_names_it(tmp_path: Path) -> None:
    job = make_job(tmp_path, [sys.executable, "-c", "pass"], output_dir=str(tmp_path / "absent" / "test_run"))
    assert spawn(job).wait(30) == 3
    assert state_of(job) == {}
    refusal = files.read_json(f"{job.run_dir}/refused.{job.nonce}.json")
    assert (refusal["holder"], refusal["slot"]) == (None, None), "no other launch keeps it out"
    assert f" {tmp_path}/absent " in refusal["why"]
