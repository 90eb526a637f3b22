# SPDX-License-Identifier: GPL-3.0-or-later
"""Starting a job: what the ranks inherit, which secrets can be, and a systemd that does not take units."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.command import CommandResult
from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._host.trust import open_private
from ansible_collections.muster.train.plugins.module_utils._records import layout
from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils._runs import directories, start
from ansible_collections.muster.train.plugins.module_utils._runs import stop as stopping
from ansible_collections.muster.train.plugins.module_utils._runs.read import read_run
from ansible_collections.muster.train.plugins.module_utils._runs.starters.base import StartError
from ansible_collections.muster.train.plugins.module_utils._runs.starters.registry import starter_named
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner.inherited import base_environment
from ansible_collections.muster.train.tests.support.jobs import RUNNER, make_job, prepare
from ansible_collections.muster.train.tests.support.unprivileged import NOBODY, as_nobody, needs_root, open_folder

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


class Booted(Host):
    """This machine, but as if systemd ran it: there is a systemd-run, and it fails."""

    def exists(self, path: str) -> bool:
        return path == "/run/systemd/system" or super().exists(path)

    def which(self, command: str) -> str | None:
        return "/usr/bin/false" if command == "systemd-run" else super().which(command)

    def user_id(self) -> int:
        return 0


def test_what_belongs_to_another_launcher_is_not_inherited() -> None:
    login = {"PATH": "/bin", "NCCL_DEBUG": "INFO", "RANK": "3", "PET_NNODES": "9", "ANSIBLE_X": "1", "SSH_TTY": "x"}
    assert base_environment(login) == {"PATH": "/bin", "NCCL_DEBUG": "INFO"}


def test_of_slurm_the_job_is_inherited_and_not_the_step() -> None:
    job = {
        "SLURM_TMPDIR": "/tmp/7",
        "SLURM_JOB_END_TIME": "1796004720",
        "SLURM_ARRAY_TASK_ID": "3",
        "SLURM_JOB_ID": "12",
        "SLURM_CONF": "/etc/slurm.conf",
        "CUDA_VISIBLE_DEVICES": "0,1",
    }
    step = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_JOB_NODELIST": "gpu02", "PMI_RANK": "0", "PMIX_RANK": "0"}
    assert base_environment({**job, **step}) == job


def test_secrets_become_text() -> None:
    assert start.check_secrets({"TOKEN": "x", "PORT": 5}) == {"TOKEN": "x", "PORT": "5"}


INVALID: list[dict[str, Any]] = [{"A": True}, {"A": None}, {"A": ["x"]}, {"A": "x\0y"}, {"A=B": "x"}, {"": "x"}]


@pytest.mark.parametrize("secrets", INVALID)
def test_invalid_secrets_are_refused_without_their_value(secrets: dict[str, Any]) -> None:
    with pytest.raises(StartError) as refused:
        start.check_secrets(secrets)
    assert "x" not in str(refused.value).replace("text", "")


BOOTED = Booted(run=lambda argv, timeout, cwd: CommandResult(1, "", "no bus"))


def test_the_fallback_starts_where_systemd_takes_no_unit(tmp_path: Path) -> None:
    job = make_job(tmp_path, SLEEP, starter="systemd", starter_fallback="setsid")
    try:
        changed, run = start.start(BOOTED, job, RUNNER)
        assert (changed, run.phase, run.starter) == (True, "running", "setsid")
    finally:
        stop(Host(), "node0", str(tmp_path), job.run_id, None, 1, False, ["docker"])
    with pytest.raises(StartError):
        start.start(BOOTED, make_job(tmp_path, SLEEP, starter="systemd", nonce="b" * 32), RUNNER)


@pytest.mark.parametrize(
    ("phase", "state", "likeness"),
    [
        ("failed", Likeness.PEER, Likeness.PEER),
        ("failed", Likeness.OWN, Likeness.OWN),
        ("stopped", None, Likeness.UNCLEAR),
    ],
)
def test_a_job_that_ended_at_once_has_the_likeness_of_its_state(
    tmp_path: Path, phase: str, state: int | None, likeness: Likeness
) -> None:
    job = make_job(tmp_path, SLEEP)
    os.makedirs(job.run_dir)
    document = {"phase": phase, "node_rank": 0, "nonce": job.nonce, "why": "OOM: timed out", "likeness": state}
    Path(job.run_dir, "state.json").write_text(json.dumps(document))
    with pytest.raises(StartError) as ended:
        start._await_running(Host(), job, starter_named("setsid"), None)
    assert ended.value.likeness is likeness


def test_a_command_that_is_not_there_is_a_failure_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(StartError) as refused:
        start.start(Host(), make_job(tmp_path, ["/nonexistent/python"]), RUNNER)
    assert refused.value.likeness is Likeness.OWN


def test_the_plan_is_the_same_on_head_and_controller(tmp_path: Path) -> None:
    """To the letter, so that collecting it changes nothing, and for people's eyes."""
    job = make_job(tmp_path, [sys.executable, "-c", "pass"])
    plan = {"run_id": job.run_id, "jobs": {"node0": {"argv": ["ä"]}}}
    start.start(Host(), job, RUNNER, plan)
    assert Path(job.run_dir, "plan.json").read_text() == json.dumps(plan, indent=2) + "\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_what_root_makes_belongs_to_the_user_who_became_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", "65534")
    os.chown(tmp_path, 65534, 65534)
    job = make_job(tmp_path, [sys.executable, "-c", "print('here')"])
    start.start(Host(), job, RUNNER)
    stop(Host(), "node0", str(tmp_path), job.run_id, None, 1, False, ["docker"])
    owners = {path.stat().st_uid for path in (tmp_path / ".muster").rglob("*")}
    assert owners == {65534}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_root_starts_nothing_from_another_users_directory(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(StartError, match=f"^{tmp_path} "):
        start.start(Host(), make_job(tmp_path, SLEEP), RUNNER, secrets={"TOKEN": "hunter2"})
    assert not list(tmp_path.iterdir())


def test_secrets_do_not_follow_a_directory_that_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another user, who can write a part of the path, put a directory of theirs in its place meanwhile."""
    job, stolen = make_job(tmp_path, SLEEP), tmp_path / "stolen"

    def open_and_lose(path: str, owners: set[int]) -> int:
        folder = open_private(path, owners)
        os.rename(path, stolen)
        os.mkdir(path)
        return folder

    monkeypatch.setattr(start, "open_private", open_and_lose)
    monkeypatch.setattr(start, "_begin", lambda *_args: pytest.fail("everything is laid out"))
    with pytest.raises(pytest.fail.Exception):
        start.start(Host(), job, RUNNER, secrets={"TOKEN": "hunter2"})
    assert not list(Path(job.run_dir).iterdir())
    assert "hunter2" in (stolen / f"private.{job.nonce}.json").read_text()


def _open_run(folder: Path, owner: int) -> Job:
    """Prepare the directories of a run that all may write and that belong to one user, the work directory too."""
    job = make_job(folder, SLEEP)
    os.makedirs(job.run_dir)
    os.makedirs(layout.slots_dir(job.workdir, job.node))
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
        os.chown(path, owner, owner)
    return job


@needs_root
def test_a_user_lays_out_a_run_where_a_shared_file_system_maps_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """As NFS with all_squash and CIFS do: all belongs to one other user, and no mode can be changed."""
    monkeypatch.setattr(directories, "owners_below", lambda _workdir: {NOBODY, NOBODY + 1})
    with open_folder() as folder:
        job = _open_run(folder, NOBODY + 1)
        assert as_nobody(lambda: start._lay_out(job, RUNNER, None, {})) is None
        assert Path(job.run_dir, f"job.{job.nonce}.json").stat().st_uid == NOBODY


@needs_root
def test_a_user_lays_out_no_run_in_what_another_user_has_prepared() -> None:
    with open_folder() as folder:
        job = _open_run(folder, NOBODY + 1)
        refusal = as_nobody(lambda: start._lay_out(job, RUNNER, None, {"TOKEN": "hunter2"}))
        assert refusal["error"].startswith(f"StartError('{folder}/.muster ")
        assert not list(Path(job.run_dir).iterdir())


def test_a_stop_finds_what_is_laid_out_while_it_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it reports a run as prepared that then starts."""
    job = make_job(tmp_path, SLEEP)

    def lay_out_and_read(*arguments: Any) -> Any:
        if not os.path.exists(job.run_dir):
            prepare(job)
        return read_run(*arguments)

    monkeypatch.setattr(stopping, "read_run", lay_out_and_read)
    _changed, run, _swept = stop(Host(), job.node, str(tmp_path), job.run_id, None, 1, False, ["docker"])
    assert run.phase == "stopped"
    assert list(Path(job.run_dir).glob("job*.json")) == []
