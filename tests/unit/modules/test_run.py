# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules run, run_stop and run_info through main(), with real processes."""

from __future__ import annotations

import base64
import importlib
import json
import os
import signal
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.locks import Lock, run_path
from ansible_collections.muster.train.plugins.modules import run
from ansible_collections.muster.train.tests.support.jobs import RUNNER, make_job, prepare, state_of, wait_for

pytestmark = pytest.mark.slow

NODE = ".muster/nodes/node0"
SLEEP = [sys.executable, "-c", "print('up', flush=True); import time; time.sleep(600)"]


def call(capsys: pytest.CaptureFixture[str], name: str, **args: Any) -> dict[str, Any]:
    if "workdir" in args:
        args.setdefault("node", "node0")
    if "job" in args:
        args["runner"] = base64.b64encode(zlib.compress(RUNNER)).decode()  # which the action adds
    module = importlib.import_module(f"ansible_collections.muster.train.plugins.modules.{name}")
    with patch_module_args(args), pytest.raises(SystemExit):
        module.main()
    return dict(json.loads(capsys.readouterr().out))


def stop(capsys: pytest.CaptureFixture[str], tmp_path: Path, **args: Any) -> dict[str, Any]:
    return call(capsys, "run_stop", workdir=str(tmp_path), run_id="test_run", grace=2, **args)


def test_start_then_info_then_stop_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = make_job(tmp_path, SLEEP)
    started = call(
        capsys,
        "run",
        job=job.to_dict(),
        plan={"run_id": "test_run"},
        key="k3y",
        secrets=json.dumps({"TOKEN": "s3cret"}),
    )
    assert (started["changed"], started["run"]["phase"], started["run"]["starter"]) == (True, "running", "setsid")
    again = call(capsys, "run", job=job.to_dict())
    assert (again["changed"], again["run"]["pid"]) == (False, started["run"]["pid"])
    log = Path(job.run_dir, "logs/node.log")
    wait_for(lambda: log.exists() and log.stat().st_size, "the first line")
    info = call(capsys, "run_info", workdir=str(tmp_path), lines=5)
    assert (info["run"]["run_id"], info["run"]["alive"], info["run"]["left"]) == ("test_run", True, 0)
    assert [(line["node"], line["rank"], line["text"]) for line in info["log"]] == [("node0", None, "up")]
    assert {"job.json", "plan.json", "state.json", "logs/node.log"} <= {
        file["path"] for file in call(capsys, "run_info", workdir=str(tmp_path), run_id="test_run", files=True)["files"]
    }
    stopped = stop(capsys, tmp_path)
    assert (stopped["changed"], stopped["run"]["phase"], stopped["run"]["swept"]) == (True, "stopped", 0)
    twice = stop(capsys, tmp_path)
    assert (twice["changed"], twice["run"]["phase"]) == (False, "stopped")


def test_check_mode_starts_and_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = make_job(tmp_path, SLEEP)
    assert call(capsys, "run", job=job.to_dict(), _ansible_check_mode=True)["changed"] is True
    assert not (tmp_path / ".muster").exists()
    pid = call(capsys, "run", job=job.to_dict())["run"]["pid"]
    assert stop(capsys, tmp_path, _ansible_check_mode=True)["changed"] is True
    assert process_tree.look(pid) is not None
    stop(capsys, tmp_path)
    assert stop(capsys, tmp_path, _ansible_check_mode=True)["changed"] is False


def test_a_job_that_cannot_start_gives_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = call(capsys, "run", job=make_job(tmp_path, ["/no/such/python"]).to_dict())
    assert failed["failed"]
    assert failed["msg"] == f"node0: {failed['why']}" and f" /no/such/python in {tmp_path}: " in failed["why"]


def test_a_job_in_a_taken_slot_names_the_holder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "run", job=make_job(tmp_path, SLEEP).to_dict())
    rival = make_job(tmp_path, SLEEP, run_id="rival", nonce="b" * 32)
    refused = call(capsys, "run", job=rival.to_dict())
    assert (refused["slot"], refused["holder"]["run_id"]) == ("default", "test_run")
    assert [path.name for path in Path(rival.run_dir).glob("*.json")] == []
    stop(capsys, tmp_path, nonce="b" * 32)
    assert call(capsys, "run_info", workdir=str(tmp_path), run_id="test_run")["run"]["alive"] is True
    stop(capsys, tmp_path)


def test_stop_sweeps_what_a_killed_runner_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deaf = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    job = make_job(tmp_path, [sys.executable, "-c", deaf])
    pid = call(capsys, "run", job=job.to_dict())["run"]["pid"]
    log = Path(job.run_dir, "logs/node.log")
    wait_for(lambda: log.exists() and log.stat().st_size, "the job ignores SIGTERM")
    other = make_job(tmp_path / "other", SLEEP)
    (tmp_path / "other").mkdir()
    neighbor = call(capsys, "run", job=other.to_dict())["run"]["pid"]
    os.kill(pid, signal.SIGKILL)
    # Its threads may still hold the lock when its process counts as dead.
    wait_for(lambda: Lock(run_path(job.run_dir)).holder() is None, "the runner is dead")
    info = call(capsys, "run_info", workdir=str(tmp_path))["run"]
    assert (info["phase"], info["alive"], info["left"]) == ("lost", False, 1)
    assert f"(pid {pid})" in info["why"]
    stopped = stop(capsys, tmp_path)
    assert (stopped["changed"], stopped["run"]["swept"], stopped["run"]["phase"]) == (True, 1, "lost")
    assert process_tree.processes_of(job.run_id, job.run_dir) == []
    assert state_of(job)["why"] == f"{info['why']}; stop swept 1 process"
    assert process_tree.look(neighbor) is not None, "a run beside it was touched"
    assert stop(capsys, tmp_path)["changed"] is False
    stop(capsys, tmp_path / "other")


def test_a_run_is_launched_again_under_its_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "run", job=make_job(tmp_path, SLEEP).to_dict())
    stop(capsys, tmp_path)
    again = make_job(tmp_path, SLEEP, nonce="c" * 32)
    assert call(capsys, "run", job=again.to_dict())["run"]["nonce"] == "c" * 32
    assert stop(capsys, tmp_path)["run"]["phase"] == "stopped"


def test_stop_removes_what_a_dead_launch_prepared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = make_job(tmp_path, SLEEP)
    prepare(job, {"secrets": {"TOKEN": "s3cret"}})
    half_written = Path(job.run_dir, f"private.{'b' * 32}.json.4711.new")
    half_written.write_text("s3cr")
    assert call(capsys, "run_info", workdir=str(tmp_path))["run"]["phase"] == "prepared"
    assert stop(capsys, tmp_path, _ansible_check_mode=True)["changed"] is True
    assert stop(capsys, tmp_path, nonce="c" * 32)["changed"] is False
    assert half_written.exists()
    stopped = stop(capsys, tmp_path)
    assert (stopped["changed"], stopped["run"]["phase"]) == (True, "stopped")
    assert stopped["run"]["nonce"] == job.nonce
    assert [path.name for path in Path(job.run_dir).iterdir() if path.name.startswith(("private", "job"))] == []
    assert stop(capsys, tmp_path)["changed"] is False


@pytest.mark.parametrize("module", ["run_stop", "run_info"])
def test_a_run_id_that_is_a_path_is_refused(module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = call(capsys, module, workdir=str(tmp_path), run_id="../../x")
    assert refused["failed"] and refused["msg"].startswith("run_id: '../../x' ")


def test_a_muster_directory_that_is_a_link_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / ".muster")
    failed = call(capsys, "run", job=make_job(tmp_path, SLEEP).to_dict())
    assert failed["msg"].startswith(f"node0: {tmp_path}/.muster ")
    assert list((tmp_path / "elsewhere").iterdir()) == []


PARTS = [".muster", ".muster/nodes", NODE, f"{NODE}/runs", f"{NODE}/slots", f"{NODE}/runs/test_run"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", ["link", "stranger"])
def test_a_link_or_another_users_directory_is_refused_by_name(
    part: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, elsewhere = tmp_path / part, tmp_path / "elsewhere"
    path.parent.mkdir(parents=True, exist_ok=True)
    elsewhere.mkdir()
    if kind == "link":
        path.symlink_to(elsewhere)
    elif os.geteuid() == 0:
        path.mkdir(mode=0o777)
        os.chown(path, 65534, 65534)
    else:
        pytest.skip("only root makes files for others")
    failed = call(capsys, "run", job=make_job(tmp_path, SLEEP).to_dict())
    assert failed["msg"].startswith(f"node0: {path} ")
    assert list((elsewhere if kind == "link" else path).iterdir()) == []


def test_a_directory_that_others_could_write_is_closed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".muster").mkdir()
    (tmp_path / ".muster").chmod(0o777)
    call(capsys, "run", job=make_job(tmp_path, [sys.executable, "-c", "pass"]).to_dict())
    assert (tmp_path / ".muster").stat().st_mode & 0o777 == 0o700


def test_output_of_ranks_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ansible prints a message as it is."""
    job = make_job(tmp_path, ["/nowhere/\x1b[2J\x1b]0;title\x07\u202e"])
    failed = call(capsys, "run", job=job.to_dict())
    assert "/nowhere/" in failed["msg"]
    assert failed["msg"].isprintable()


def test_a_short_secret_leaves_no_stars_in_the_runs_own_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A launch goes on by what this task answers."""
    job = make_job(tmp_path, [sys.executable, "-c", "import time; time.sleep(600)"])
    started = call(
        capsys,
        "run",
        job=job.to_dict(),
        secrets=json.dumps({"PORT": "1", "WORD": "running", "TOKEN": "kept-to-itself"}),
    )
    try:
        assert (started["run"]["run_dir"], started["run"]["phase"]) == (job.run_dir, "running")
        assert started["run"]["nonce"] == job.nonce
    finally:
        stop(capsys, tmp_path)


def test_a_secret_that_a_rank_printed_is_masked() -> None:
    answer = {"phase": "failed", "pid": 5, "log_tail": ["token s3cret-longer s3cret"], "first": {"message": "s3cret"}}
    assert run._mask(answer, ["s3cret", "s3cret-longer"]) == {
        "phase": "failed",
        "pid": 5,
        "log_tail": ["token ******** ********"],
        "first": {"message": "********"},
    }
