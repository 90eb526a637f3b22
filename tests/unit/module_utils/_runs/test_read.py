# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a run, judged from what lies on the node; and the zipapp that goes there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._records.run import Progress, RunRecord
from ansible_collections.muster.train.plugins.module_utils._runs import read
from ansible_collections.muster.train.plugins.module_utils._runs.listing import list_runs
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import files
from ansible_collections.muster.train.plugins.module_utils.runner.locks import Lock, run_path
from ansible_collections.muster.train.plugins.module_utils.runner.main import note_unit_end
from ansible_collections.muster.train.tests.support.jobs import make_job, prepare, spawn, state_of, wait_for
from ansible_collections.muster.train.tests.support.unprivileged import NOBODY, needs_root

RUNNING = {"phase": "running", "boot_id": "boot-1", "pid": 77, "started": "2026-11-20T14:30:52Z"}


@pytest.mark.parametrize(
    ("state", "prepared", "alive", "boot_id", "phase", "why"),
    [
        (None, False, False, "boot-1", "not_found", "nothing of this run is on this node"),
        (None, True, False, "boot-1", "prepared", "its files are here, its runner has not started"),
        (RUNNING, True, True, "boot-1", "running", None),
        (RUNNING, True, False, "boot-2", "lost", "the node was rebooted while the run was running"),
        (
            RUNNING,
            True,
            False,
            "boot-1",
            "lost",
            "the runner (pid 77) ended without a verdict while the run was running: killed?",
        ),
        (
            {"phase": "failed", "why": "rank 1 exited with code 7"},
            True,
            False,
            "boot-2",
            "failed",
            "rank 1 exited with code 7",
        ),
    ],
)
def test_judge(
    state: dict[str, Any] | None, prepared: bool, alive: bool, boot_id: str, phase: str, why: str | None
) -> None:
    record = None if state is None else RunRecord.from_dict(state)
    assert read.judge(record, prepared, alive, boot_id) == (phase, why)


@pytest.mark.parametrize(
    ("result", "code", "status", "how"),
    [
        ("signal", "killed", "KILL", "killed by SIGKILL"),
        ("core-dump", "dumped", "SEGV", "killed by SIGSEGV and dumped core"),
        ("oom-kill", "killed", "KILL", "the kernel ran out of memory and killed a process of its unit (oom-kill)"),
        ("timeout", "killed", "KILL", "systemd killed it after a timeout"),
        ("exit-code", "exited", "1", "it exited with code 1"),
        ("resources", None, None, "systemd reports resources"),
        (None, None, None, "killed?"),
    ],
)
def test_the_unit_says_how_a_runner_ended(
    tmp_path: Path, result: str | None, code: str | None, status: str | None, how: str
) -> None:
    run_dir = write_run(tmp_path, "r1", **{**RUNNING, "boot_id": None}, nonce="n1")
    result_of_unit = {"SERVICE_RESULT": result, "EXIT_CODE": code, "EXIT_STATUS": status}
    note_unit_end(str(run_dir), "n1", {name: value for name, value in result_of_unit.items() if value})
    run = read.read_run(Host(), "node0", str(tmp_path), "r1", ["docker"])
    assert run.why == f"the runner (pid 77) ended without a verdict while the run was running: {how}"


def test_the_unit_of_another_launch_is_ignored(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path, "r1", **{**RUNNING, "boot_id": None}, nonce="n1")
    note_unit_end(str(run_dir), "n2", {"SERVICE_RESULT": "oom-kill"})
    assert str(read.read_run(Host(), "node0", str(tmp_path), "r1", ["docker"]).why).endswith("killed?")


def test_a_run_that_is_not_here(tmp_path: Path) -> None:
    run = read.read_run(Host(), "node7", str(tmp_path), "nothing", ["docker"])
    assert (run.phase, run.node, run.run_id, run.alive) == ("not_found", "node7", "nothing", False)


def write_run(workdir: Path, run_id: str, **fields: object) -> Path:
    run_dir = workdir / ".muster" / "nodes" / "node0" / "runs" / run_id
    run_dir.mkdir(parents=True)
    files.write_json(str(run_dir / "state.json"), {"run_id": run_id, "node": "node0", "node_rank": 0, **fields})
    return run_dir


def test_a_run_with_a_living_runner(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path, "r1", **RUNNING)
    files.write_json(str(run_dir / "heartbeat.json"), {"count": 3, "progress": {"step": 4}, "log_dropped": 0})
    lock = Lock(run_path(str(run_dir)))
    assert lock.acquire({"run_id": "r1"})
    try:
        run = read.read_run(Host(), "node0", str(tmp_path), "r1", ["docker"])
    finally:
        lock.release()
    assert (run.phase, run.alive, run.progress) == ("running", True, Progress(step=4))
    assert read.read_run(Host(), "node0", str(tmp_path), "r1", ["docker"]).phase == "lost"


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    for run_id, created in (
        ("a", "2026-11-20T10:00:00Z"),
        ("c", "2026-11-20T12:00:00Z"),
        ("b", "2026-11-20T11:00:00Z"),
    ):
        write_run(tmp_path, run_id, phase="succeeded", created=created)
    assert [run.run_id for run in list_runs(Host(), str(tmp_path), "node0")] == ["c", "b", "a"]
    assert list_runs(Host(), str(tmp_path / "none"), "node0") == []


def test_the_list_says_which_runs_live(tmp_path: Path) -> None:
    running, ended = write_run(tmp_path, "a", phase="running"), write_run(tmp_path, "b", phase="stopped")
    locks = [Lock(run_path(str(run_dir))) for run_dir in (running, ended)]
    assert all(lock.acquire({}) for lock in locks)
    try:
        listed = list_runs(Host(), str(tmp_path), "node0")
    finally:
        for lock in locks:
            lock.release()
    assert {run.run_id: run.alive for run in listed} == {"a": True, "b": False}
    assert {run.alive for run in list_runs(Host(), str(tmp_path), "node0")} == {False}


def test_other_directories_are_not_listed(tmp_path: Path) -> None:
    write_run(tmp_path, "real", phase="running")
    (tmp_path / ".muster/nodes/node0/runs/notes").mkdir()
    (tmp_path / ".muster/nodes/node0/runs/file").touch()
    write_run(tmp_path, "-rf", phase="running")
    assert [run.run_id for run in list_runs(Host(), str(tmp_path), "node0")] == ["real"]


@pytest.mark.parametrize("run_id", ["../../etc", "", ".", "..", "a/b", "a\nb", "-x"])
def test_a_run_id_that_is_a_path_is_refused(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(ValueError, match="is not a valid run ID"):
        read.run_directory(str(tmp_path), "node0", run_id)


RUNS = ".muster/nodes/node0/runs"
PARTS = [
    ".muster",
    ".muster/nodes",
    ".muster/nodes/node0",
    RUNS,
    f"{RUNS}/test_run",
    f"{RUNS}/test_run/state.json",
]


def finished_run(workdir: Path) -> Path:
    """Return the directory of a run that says that it succeeded."""
    run_dir = workdir / ".muster" / "nodes" / "node0" / "runs" / "test_run"
    run_dir.mkdir(parents=True)
    (run_dir / "state.json").write_text(json.dumps({"run_id": "test_run", "phase": "succeeded"}))
    return run_dir


def assert_refused(workdir: Path, why: str) -> None:
    """The run's word is not taken: the path is named, and nothing is asked to stop."""
    for run in (
        read.read_run(Host(), "node0", str(workdir), "test_run", ["docker"]),
        stop(Host(), "node0", str(workdir), "test_run", None, 0.1, False, ["docker"])[1],
    ):
        assert (run.phase, run.why) == ("not_found", why)
    assert not list(workdir.rglob("stop.*"))
    assert all(run.phase is None for run in list_runs(Host(), str(workdir), "node0"))


@pytest.mark.parametrize("part", PARTS)
def test_a_run_behind_a_link_is_not_read(part: str, tmp_path: Path) -> None:
    finished_run(tmp_path)
    assert read.read_run(Host(), "node0", str(tmp_path), "test_run", ["docker"]).phase == "succeeded"
    path, elsewhere = tmp_path / part, tmp_path / "elsewhere"
    os.rename(path, elsewhere)
    path.symlink_to(elsewhere)
    assert_refused(tmp_path, f"{path} is a link, which Muster does not make: the run's files are not read")


@needs_root
@pytest.mark.parametrize("part", PARTS)
def test_a_run_of_another_user_is_not_read(part: str, tmp_path: Path) -> None:
    finished_run(tmp_path)
    os.chown(tmp_path / part, NOBODY, NOBODY)
    why = f"{tmp_path / part} belongs to uid {NOBODY}, not to the owner of {tmp_path}: the run's files are not read"
    assert_refused(tmp_path, why)


@needs_root
def test_files_of_root_and_of_the_user_who_became_root_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    run_dir = finished_run(tmp_path)
    for path in (tmp_path, tmp_path / ".muster", run_dir):
        os.chown(path, NOBODY, NOBODY)
    assert read.read_run(Host(), "node0", str(tmp_path), "test_run", ["docker"]).phase == "succeeded"


@needs_root
def test_root_reads_nothing_where_another_user_could_change_it(tmp_path: Path) -> None:
    finished_run(tmp_path)
    os.chown(tmp_path, NOBODY, NOBODY)
    mode = tmp_path.stat().st_mode & 0o7777
    why = (
        f"{tmp_path} belongs to uid {NOBODY} and has mode {mode:04o}, so another user could change what root would read"
    )
    assert_refused(tmp_path, f"{why}: the run's files are not read")


@pytest.mark.slow
@needs_root
def test_a_living_run_is_stopped_where_another_user_could_change_its_path(tmp_path: Path) -> None:
    """As if a parent of the work directory was opened for a group after the launch."""
    job = make_job(tmp_path, ["sleep", "600"], launcher="python")
    runner = spawn(job)
    try:
        wait_for(lambda: state_of(job).get("launcher"), "the rank runs", 60)
        tmp_path.chmod(0o777)
        run = read.read_run(Host(), job.node, job.workdir, job.run_id, ["docker"])
        assert (run.phase, run.alive, run.run_dir) == ("running", True, None)
        assert str(run.why).endswith("so another user could change what root would read: the run's files are not read")
        changed, run, swept = stop(Host(), job.node, job.workdir, job.run_id, None, 60.0, False, ["docker"])
        assert runner.wait(60) == 0
    finally:
        runner.kill()
        runner.wait()
    assert (changed, run.phase, run.alive, swept.swept) == (True, "stopped", False, 0)
    assert str(run.why).startswith(f"its processes were ended; how the run itself ended is not known: {tmp_path} ")
    assert not list(tmp_path.rglob("stop.*"))
    assert not stop(Host(), job.node, job.workdir, job.run_id, None, 5.0, False, ["docker"])[0]
    tmp_path.chmod(0o755)
    assert state_of(job)["phase"] == "stopped"


def test_a_run_whose_state_was_removed_runs(tmp_path: Path) -> None:
    """Its runner has taken the job, and lives."""
    job = make_job(tmp_path, ["true"])
    prepare(job)
    Path(job.run_dir, f"job.{job.nonce}.json").rename(Path(job.run_dir, "job.json"))
    lock = Lock(run_path(job.run_dir))
    assert lock.acquire({"nonce": job.nonce})
    run = read.read_run(Host(), job.node, job.workdir, job.run_id, ["docker"])
    assert (run.phase, run.alive) == ("running", True)
    lock.release()
    run = read.read_run(Host(), job.node, job.workdir, job.run_id, ["docker"])
    assert (run.phase, run.alive) == ("prepared", False)
