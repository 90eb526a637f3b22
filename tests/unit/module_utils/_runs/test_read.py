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


FAILED = {"phase": "failed", "why": "rank 1 exited with code 7"}
# A state, whether the run is prepared and alive, this boot, and the phase.
JUDGED: dict[str, tuple[dict[str, Any] | None, bool, bool, str, str]] = {
    "nothing is here": (None, False, False, "boot-1", "not_found"),
    "it is prepared": (None, True, False, "boot-1", "prepared"),
    "its files were removed": (None, False, True, "boot-1", "running"),
    "the node was rebooted": (RUNNING, True, False, "boot-2", "lost"),
    "its runner was killed": (RUNNING, True, False, "boot-1", "lost"),
    "its step was killed": ({**RUNNING, "starter": "slurm"}, True, False, "boot-1", "lost"),
    "its state cannot be read": ({"phase": "unknown"}, True, False, "boot-1", "lost"),
    "it failed before a reboot": (FAILED, True, False, "boot-2", "failed"),
}


def judged(state: dict[str, Any] | None, prepared: bool, alive: bool, boot_id: str) -> tuple[str, str | None]:
    return read.judge(None if state is None else RunRecord.from_dict(state), prepared, alive, boot_id)


@pytest.mark.parametrize("case", JUDGED.values(), ids=JUDGED)
def test_judge(case: tuple[Any, ...]) -> None:
    phase, why = judged(*case[:4])
    assert (phase, bool(why)) == (case[4], True)
    assert case[0] is not FAILED or why == FAILED["why"]


def test_judge_a_living_run() -> None:
    assert judged(RUNNING, True, True, "boot-1") == ("running", None)


# What systemd says of a unit: result, code and status.
ENDS = {
    "SIGKILL": ("signal", "killed", "KILL"),
    "a dumped core": ("core-dump", "dumped", "SEGV"),
    "out of memory": ("oom-kill", "killed", "KILL"),
    "a timeout": ("timeout", "killed", "KILL"),
    "an exit code": ("exit-code", "exited", "1"),
    "another result": ("resources", "", ""),
    "nothing": ("", "", ""),
}


def ended(workdir: Path, *values: str, nonce: str = "n1") -> RunRecord:
    """What is read of a run after systemd has noted how the unit of a launch ended."""
    run_dir = write_run(workdir, "r1", **{**RUNNING, "boot_id": None}, nonce="n1")
    named = zip(("SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS"), values)
    note_unit_end(str(run_dir), nonce, {name: value for name, value in named if value})
    return read.read_run(Host(), "node0", str(workdir), "r1", ["docker"])


def test_the_unit_says_how_a_runner_ended(tmp_path: Path) -> None:
    runs = [ended(tmp_path / str(number), *values) for number, values in enumerate(ENDS.values())]
    assert {run.phase for run in runs} == {"lost"}
    assert len({run.why for run in runs}) == len(ENDS)


def test_the_unit_of_another_launch_is_ignored(tmp_path: Path) -> None:
    assert ended(tmp_path / "a", *ENDS["out of memory"], nonce="n2").why == ended(tmp_path / "b").why


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


PATHS = ["../../etc", "", ".", "..", "a/b", "a\nb", "-x"]


@pytest.mark.parametrize("run_id", PATHS)
def test_a_run_id_that_is_a_path_is_refused(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(ValueError, match="run ID"):
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


def assert_refused(workdir: Path, path: Path) -> None:
    """The run's word is not taken: the path is named, and nothing is asked to stop."""
    for run in (
        read.read_run(Host(), "node0", str(workdir), "test_run", ["docker"]),
        stop(Host(), "node0", str(workdir), "test_run", None, 0.1, False, ["docker"])[1],
    ):
        assert run.phase == "not_found" and str(run.why).startswith(f"{path} ")
    assert not list(workdir.rglob("stop.*"))
    assert all(run.phase is None for run in list_runs(Host(), str(workdir), "node0"))


@pytest.mark.parametrize("part", PARTS)
def test_a_run_behind_a_link_is_not_read(part: str, tmp_path: Path) -> None:
    finished_run(tmp_path)
    assert read.read_run(Host(), "node0", str(tmp_path), "test_run", ["docker"]).phase == "succeeded"
    path, elsewhere = tmp_path / part, tmp_path / "elsewhere"
    os.rename(path, elsewhere)
    path.symlink_to(elsewhere)
    assert_refused(tmp_path, path)


@needs_root
@pytest.mark.parametrize("part", PARTS)
def test_a_run_of_another_user_is_not_read(part: str, tmp_path: Path) -> None:
    finished_run(tmp_path)
    os.chown(tmp_path / part, NOBODY, NOBODY)
    assert_refused(tmp_path, tmp_path / part)


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
    assert_refused(tmp_path, tmp_path)


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
        assert str(run.why).startswith(f"{tmp_path} ")
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
