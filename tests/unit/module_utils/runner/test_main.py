# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner with real processes: every way a job can end, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Job
from ansible_collections.muster.train.plugins.module_utils.runner import locks, process_tree
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of, wait_for

pytestmark = pytest.mark.slow

IGNORES_TERM = (
    "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_job_that_succeeds(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("print('hello'); import os; print(os.environ['TOKEN'], os.getcwd())"))
    private = {"environment": {"PATH": "/usr/bin", "HOME": "/nowhere"}, "secrets": {"TOKEN": "s3cret"}}
    assert spawn(job, private).wait(30) == 0
    state = state_of(job)
    assert (state["phase"], state["exit_code"], state["signal"], state["first"]) == ("succeeded", 0, None, None)
    assert state["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert state["started"] and state["ended"]
    lines = Path(job.run_dir, "logs/node.log").read_text().splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["hello", f"s3cret {tmp_path}"]
    assert lines[0].partition(" ")[0].endswith("Z")
    assert json.loads(Path(job.run_dir, "heartbeat.json").read_text())["count"] >= 1


def test_no_secret_stays_on_the_disk(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("pass"))
    spawn(job, {"environment": {}, "secrets": {"TOKEN": "s3cret"}, "key": "k3y"}).wait(30)
    for path in Path(tmp_path, ".muster").rglob("*"):
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
            assert b"s3cret" not in path.read_bytes() and b"k3y" not in path.read_bytes(), path


def test_exit_code_is_kept(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("print('no GPU here'); raise SystemExit(7)"))
    assert spawn(job).wait(30) == 1
    state = state_of(job)
    assert (state["phase"], state["exit_code"], state["signal"]) == ("failed", 7, None)
    assert state["log_tail"] == ["no GPU here"]


def test_signal_is_named(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("import os,signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    spawn(job).wait(30)
    state = state_of(job)
    assert (state["phase"], state["exit_code"], state["signal"]) == ("failed", None, "SIGSEGV")


def test_a_missing_command_is_named(tmp_path: Path) -> None:
    job = make_job(tmp_path, ["/no/such/python"])
    assert spawn(job).wait(30) == 1
    assert f" /no/such/python in {tmp_path}: " in state_of(job)["why"]


def test_the_report_names_the_first_failing_rank(tmp_path: Path) -> None:
    report = [
        {"rank": 3, "local_rank": 1, "code": -11, "time": 1000, "error": None},
        {"rank": 2, "local_rank": 0, "code": -15, "time": 1001, "error": None},
    ]
    code = (
        f"import os,json; os.write(int(os.environ['MUSTER_REPORT_FD']), json.dumps({report!r}).encode()); os._exit(1)"
    )
    job = make_job(tmp_path, python(code))
    spawn(job).wait(30)
    state = state_of(job)
    assert (state["first"]["rank"], state["first"]["signal"], state["first"]["time"]) == (3, "SIGSEGV", 1000)


def test_orphans_end_with_their_launcher(tmp_path: Path) -> None:
    orphan = (
        f"import subprocess,sys; subprocess.Popen([sys.executable, '-c', {IGNORES_TERM!r}], start_new_session=True)"
    )
    job = make_job(tmp_path, python(orphan + "; import os,time; time.sleep(1); os._exit(5)"))
    assert spawn(job).wait(30) == 1
    assert state_of(job)["exit_code"] == 5
    assert process_tree.processes_of(job.run_id, job.run_dir) == []


def stop(job: Job, grace: float) -> None:
    Path(f"{job.run_dir}/stop.{job.nonce}").write_text(json.dumps({"why": "stop requested", "grace": grace}))


def test_a_stop_file_gives_the_ranks_their_grace_period(tmp_path: Path) -> None:
    code = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("saved", flush=True), sys.exit(0)))
print("up", flush=True)
time.sleep(600)
"""
    job = make_job(tmp_path, python(code))
    runner = spawn(job)
    log = Path(job.run_dir, "logs/node.log")
    wait_for(lambda: log.exists() and "up" in log.read_text(), "the job is up")
    stop(job, 30)
    assert runner.wait(30) == 0
    assert (state_of(job)["phase"], state_of(job)["why"]) == ("stopped", "stop requested")
    assert "saved" in log.read_text()


def test_stop_ends_a_job_that_ignores_sigterm(tmp_path: Path) -> None:
    job = make_job(tmp_path, python(IGNORES_TERM))
    runner = spawn(job)
    log = Path(job.run_dir, "logs/node.log")
    wait_for(lambda: log.exists() and "deaf" in log.read_text(), "the job is up")
    stop(job, 1)
    runner.wait(30)
    state = state_of(job)
    assert (state["phase"], state["signal"]) == ("stopped", "SIGKILL")
    assert process_tree.processes_of(job.run_id, job.run_dir) == []


def test_ranks_that_a_stop_had_to_kill_are_named(tmp_path: Path) -> None:
    """Of two ranks that the launcher started: one it killed itself and reports, one is left to the runner."""
    report = [{"killed": 0}]
    code = f"""
import json, os, signal, subprocess, sys, time
def killed(*_):
    os.write(int(os.environ["MUSTER_REPORT_FD"]), json.dumps({report!r}).encode())
    os.close(int(os.environ["MUSTER_REPORT_FD"]))
signal.signal(signal.SIGTERM, killed)
subprocess.Popen([sys.executable, "-c", {IGNORES_TERM!r}], env={{**os.environ, "RANK": "3"}})
print("up", flush=True)
while True:
    time.sleep(1)
"""
    job = make_job(tmp_path, python(code), nproc=2, first_rank=2, world_size=4)
    runner = spawn(job)
    log = Path(job.run_dir, "logs/node.log")
    wait_for(lambda: log.exists() and "deaf" in log.read_text(), "the rank is up")
    stop(job, 1)
    runner.wait(30)
    assert " 2, 3 " in state_of(job)["why"]


def test_sigterm_to_the_runner_is_a_stop(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("import time; time.sleep(600)"))
    runner = spawn(job)
    wait_for(lambda: state_of(job).get("phase") == "running", "the job runs")
    runner.send_signal(signal.SIGTERM)
    runner.wait(30)
    assert (state_of(job)["phase"], "SIGTERM" in state_of(job)["why"]) == ("stopped", True)


def test_stop_before_the_start_wins(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("open('began', 'w')"))
    os.makedirs(job.run_dir)
    stop(job, 1)
    assert spawn(job).wait(30) == 0
    assert state_of(job)["phase"] == "stopped"
    assert not (tmp_path / "began").exists()


def test_a_stop_for_another_launch_has_no_effect(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("pass"))
    os.makedirs(job.run_dir)
    Path(job.run_dir, "stop." + "b" * 32).write_text("{}")
    spawn(job).wait(30)
    assert state_of(job)["phase"] == "succeeded"


def test_time_limit(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("import time; time.sleep(600)"), time_limit=1)
    spawn(job).wait(30)
    assert (state_of(job)["phase"], state_of(job)["why"]) == ("stopped", "time limit of 1 s reached")


def test_launcher_dies_with_a_killed_runner(tmp_path: Path) -> None:
    job = make_job(tmp_path, python("import time; time.sleep(600)"))
    runner = spawn(job)
    wait_for(lambda: state_of(job).get("phase") == "running", "the job runs")
    runner.kill()
    runner.wait(30)
    wait_for(lambda: not process_tree.processes_of(job.run_id, job.run_dir), "the launcher is gone")
    assert state_of(job)["phase"] == "running"
    assert locks.Lock(locks.run_path(job.run_dir)).holder() is None


def test_a_second_run_in_the_slot_is_refused_with_the_holder_named(tmp_path: Path) -> None:
    first = make_job(tmp_path, python("import time; time.sleep(600)"), run_id="first", nonce="1" * 32)
    runner = spawn(first)
    wait_for(lambda: state_of(first).get("phase") == "running", "the first runs")
    second = make_job(tmp_path, python("pass"), run_id="second", nonce="2" * 32)
    assert spawn(second).wait(30) == 3
    refused = json.loads(Path(second.run_dir, "refused." + second.nonce + ".json").read_text())
    assert (refused["slot"], refused["holder"]["run_id"]) == ("default", "first")
    assert state_of(second) == {}
    assert state_of(first)["phase"] == "running"
    runner.terminate()
    runner.wait(30)


def test_a_python_launcher_is_its_own_rank(tmp_path: Path) -> None:
    code = "print('no GPU here'); raise SystemExit(7)"
    job = make_job(tmp_path, python(code), launcher="python", first_rank=1)
    spawn(job).wait(30)
    state = state_of(job)
    assert (state["first"]["rank"], state["first"]["exit_code"], state["log_tail"]) == (1, 7, ["no GPU here"])
    assert [path.name for path in Path(job.run_dir, "logs").iterdir()] == ["rank_01.log"]


def test_rank_pipes_become_logs_per_rank(tmp_path: Path) -> None:
    code = """
import os
for number in (0, 1):
    with open(os.environ["MUSTER_RUN_DIR"] + f"/pipes/rank_{number}", "w") as pipe:
        pipe.write(f"I am {number}\\n")
"""
    job = make_job(tmp_path, python(code), nproc=2, world_size=4, first_rank=2)
    spawn(job).wait(30)
    for rank, text in ((2, "I am 0"), (3, "I am 1")):
        assert Path(job.run_dir, f"logs/rank_0{rank}.log").read_text().rstrip().endswith(text)
