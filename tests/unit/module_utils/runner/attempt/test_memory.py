# SPDX-License-Identifier: GPL-3.0-or-later
"""Ranks that the kernel killed because memory ran out: its count, its words, and what the state says of it."""

from __future__ import annotations

import os
import selectors
import signal
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.cause import judge_rank, likeliest_first
from ansible_collections.muster.train.plugins.module_utils._records.likeness import Likeness
from ansible_collections.muster.train.plugins.module_utils._records.run import RankFailure
from ansible_collections.muster.train.plugins.module_utils.runner.attempt import attempt as attempt_module
from ansible_collections.muster.train.plugins.module_utils.runner.attempt import launcher_failure, memory
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.attempt import Attempt
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.prepared import lay_out
from ansible_collections.muster.train.plugins.module_utils.runner.disk import DiskThread
from ansible_collections.muster.train.plugins.module_utils.runner.gang.base import report_of
from ansible_collections.muster.train.tests.support import memory as groups
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of, wait_for

V1 = "9:name=systemd:/user.slice\n4:memory:/system.slice/muster-x.service\n0::/\n"
V2 = "0::/system.slice/muster-x.service\n"
MOUNTED_V1 = "30 25 0:26 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
MOUNTED_CPU = "31 25 0:27 / /sys/fs/cgroup/cpu rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
MOUNTED_V2 = "32 25 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
# Docker on version 1 without a namespace: the host's path, and a mount of the container's own group.
DOCKER_V1 = "4:memory:/docker/0a1b\n"
DOCKER_MOUNT = "30 25 0:26 /docker/0a1b /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n"
OWN = "oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a/b,task_memcg=/a/b,task=python3,pid=7,uid=0"
FOREIGN = OWN.replace("/a/b", "/c")
KILLED = "Memory cgroup out of memory: Killed process 7 (python3) total-vm:221356kB, anon-rss:65280kB"


@pytest.mark.parametrize(
    ("cgroups", "mounts", "expected"),
    [
        (V1, MOUNTED_CPU + MOUNTED_V1, ["/sys/fs/cgroup/memory/system.slice/muster-x.service/memory.oom_control"]),
        (V2, MOUNTED_V2, ["/sys/fs/cgroup/system.slice/muster-x.service/memory.events"]),
        ("0::/\n", MOUNTED_V2, ["/sys/fs/cgroup/memory.events"]),
        (DOCKER_V1, DOCKER_MOUNT, ["/sys/fs/cgroup/memory/memory.oom_control"]),
        ("4:memory:/docker/0a1bc\n", DOCKER_MOUNT, []),
        ("", MOUNTED_V2, []),
        ("garbage\n::\n", "garbage - cgroup2\n - \n", []),
    ],
)
def test_the_count_is_that_of_the_own_control_group(cgroups: str, mounts: str, expected: list[str]) -> None:
    assert [file for file, _group in memory.counters(cgroups, mounts)] == expected


@pytest.mark.parametrize(
    ("text", "kills"),
    [
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", 3),
        ("low 0\noom 5\noom_kill 2\noom_group_kill 1\n", 2),
        ("oom_kill_disable 0\nunder_oom 0\n", None),
        ("", None),
    ],
)
def test_the_count_of_both_versions(text: str, kills: int | None) -> None:
    assert memory.parse_kills(text) == kills


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([OWN, KILLED, FOREIGN, KILLED.replace("7", "8")], KILLED),
        ([FOREIGN, KILLED], None),
        ([KILLED], KILLED),  # kernels before 5.0 do not name the control group
        (["usb 1-1: new device"], None),
    ],
)
def test_the_words_are_about_the_own_control_group(messages: list[str], words: str | None) -> None:
    assert memory.last_words(messages, "/b") == words


def test_only_a_late_kill_explains_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def count(kills: int) -> None:
        (tmp_path / "memory.events").write_text(f"oom_kill {kills}\n")

    for name, text in (("CGROUPS", "0::/\n"), ("MOUNTS", f"32 25 0:28 / {tmp_path} rw - cgroup2 cgroup2 rw\n")):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(memory, name, str(tmp_path / name))
    count(3)
    kernel = memory.KernelMemory()
    count(4)
    assert (kernel.kills(), "killed 1 process of" in str(kernel.explain())) == (1, True)
    kernel.sample()
    assert kernel.kills() == 1  # a sample just after a kill does not hide it
    kernel.sample()
    assert (kernel.kills(), kernel.explain()) == (0, None)
    (tmp_path / "memory.events").rename(tmp_path / "away")
    kernel.sample()  # not readable, as without a free file descriptor
    kernel.sample()
    assert kernel.kills() == 0
    count(6)
    assert kernel.kills() == 2
    kernel.close()


@pytest.mark.slow
def test_an_attempt_takes_samples_until_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the storage does not answer: a kill before that is not the cause of a failure after it."""
    samples: list[float] = []
    monkeypatch.setattr(attempt_module, "MEMORY_SAMPLE_S", 0.0)
    monkeypatch.setattr(memory.KernelMemory, "sample", lambda _memory: samples.append(time.monotonic()))
    job = make_job(tmp_path, ["sleep", "600"], launcher="python")
    storage = tmp_path / "storage"
    os.mkfifo(storage)
    disk = DiskThread()
    disk.add(storage.read_text)
    prepared = lay_out(job, str(tmp_path), os.environ)
    attempt = Attempt(job, str(tmp_path), 0, dict(os.environ), prepared, disk, selectors.DefaultSelector())
    try:
        attempt.tick(time.monotonic())
        assert len(samples) == 1
        os.kill(attempt.child.pid, signal.SIGKILL)
        wait_for(lambda: Path(f"/proc/{attempt.child.pid}/stat").read_text().split()[2] == "Z", "the rank's end", 60)
        attempt.child.reap()
        attempt.tick(time.monotonic())
        assert len(samples) == 1  # none that could hide the cause
    finally:
        attempt.child.signal_tree(signal.SIGKILL)
        attempt.close()
        storage.write_text("it answers")


def test_the_first_killed_ranks_are_the_cause() -> None:
    failures = [
        RankFailure(rank=0, exit_code=1, message="RuntimeError: Connection closed by peer", time=1.0),
        RankFailure(rank=1, signal="SIGKILL", time=2.0),
        RankFailure(rank=2, signal="SIGKILL", time=9.0),  # torchrun's patience ended
    ]
    blamed = launcher_failure.blame_memory(failures, 1, "out of memory")
    assert [failure.oom_killed for failure in blamed] == [False, True, False]
    first = likeliest_first(judge_rank(failure, blamed) for failure in blamed)[0]
    assert (first.rank, first.likeness, first.message, first.oom_detail) == (1, Likeness.OWN, None, "out of memory")
    cause = report_of("failed", {"first": first.to_dict(), "likeness": first.likeness})
    assert (cause["oom_killed"], cause["message"], cause["oom_detail"]) == (True, None, "out of memory")


@pytest.mark.slow
@pytest.mark.skipif(groups.skip_reason() is not None, reason=str(groups.skip_reason()))
@pytest.mark.parametrize("hungry", ["rank", "helper"])
def test_memory_that_ran_out_is_a_cause_of_its_own(tmp_path: Path, hungry: str) -> None:
    helper = "import subprocess, sys; raise SystemExit(subprocess.run([sys.executable, '-c', %r]).returncode != 0)"
    code = groups.HUNGRY if hungry == "rank" else helper % groups.HUNGRY
    job = make_job(tmp_path, [sys.executable, "-c", code], launcher="python")
    with groups.small_group(128 << 20) as inside:
        assert spawn(job, inside=inside).wait(90) == 1
    state = state_of(job)
    how = "killed by SIGKILL" if hungry == "rank" else "exited with code 1"
    start = f"rank 0 {how}: out of memory, the kernel killed 1 process of this node's control group"
    assert state["why"].startswith(start), state["why"]
    assert (state["phase"], state["first"]["oom_killed"]) == ("failed", hungry == "rank")
    assert (state["first"]["exception"], state["first"]["message"]) == (None, None)


@pytest.mark.slow
def test_a_rank_that_was_killed_otherwise_is_not_blamed_on_memory(tmp_path: Path) -> None:
    job = make_job(tmp_path, [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], launcher="python")
    assert spawn(job).wait(90) == 1
    state = state_of(job)
    assert (state["why"], state["first"]["oom_killed"]) == ("rank 0 killed by SIGKILL", False)
