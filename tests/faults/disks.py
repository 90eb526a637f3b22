# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's disk is full or hangs: each has a small file system, which only root can mount."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.faults import gangs
from ansible_collections.muster.train.tests.support.jobs import wait_for

# Of a small disk, and of one that can be frozen.
SMALL, HANGING = "size=1m,nr_inodes=200", 16 << 20
# Much longer than `lost_after`.
SHORT_S = 15.0
# As long as the failover of a file server takes.
STALL_S = 60.0
# Between two disks that come back.
LAST_THAW_S = 8.0
# `launch_disk_wait` of a run whose disk does not come back, shortened.
DISK_WAIT_S = 8
WRITES = "import sys, time\nwhile True:\n    open(sys.argv[1], 'w').write('x')\n    time.sleep(0.01)"


def skip_reason() -> str | None:
    """Why no file system can be mounted here; None where one can."""
    missing = [tool for tool in ("mount", "umount", "losetup", "fsfreeze", "mkfs.ext4") if shutil.which(tool) is None]
    if missing:
        return f"{missing[0]} is not installed"
    if os.geteuid() != 0:
        return "only root can mount a disk"
    done = subprocess.run(["losetup", "--find"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"there is no loop device: {done.stderr.strip()}"


@contextlib.contextmanager
def small(place: Path, options: str = SMALL) -> Iterator[Path]:
    """Yield a disk, by default of 1 MiB and 200 inodes."""
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def fill(place: Path) -> None:
    """Write until the disk is full."""
    with (place / "filler").open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        for size in (4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    stream.write(b"x" * size)


def use_inodes(place: Path) -> None:
    """Make empty files until the disk has no inode left."""
    with contextlib.suppress(OSError):
        for number in itertools.count():
            (place / f"filler{number}").touch(exist_ok=False)


@contextlib.contextmanager
def freezable(place: Path, size: int = HANGING) -> Iterator[Callable[[bool], None]]:
    """Yield a function that freezes a disk (writers hang until it is thawed) or thaws it."""
    image = place.with_name(f"{place.name}.image")
    place.mkdir(parents=True)
    with image.open("wb") as stream:
        stream.truncate(size)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)

    def freeze(frozen: bool) -> None:
        subprocess.run(["fsfreeze", "--freeze" if frozen else "--unfreeze", place], check=True)

    try:
        yield freeze
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", place], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["umount", "-l", place], check=True)


def exhausted(exhaust: Callable[[Path], None]) -> Callable[[Path, random.Random], float]:
    """Return the fault that a disk is exhausted during the run, which is then stopped there as the module does."""

    def fault(home: Path, turn: random.Random) -> float:
        bad = turn.randrange(gangs.NODES)
        with small(home / f"node{bad}") as disk, gangs.running_gang(home, turn) as running:
            exhaust(disk)
            time.sleep(1.5)
            assert gangs.all_run(running), f"the disk ended the run: {running.phases()}"
            job = running.jobs[bad]
            began = time.monotonic()
            gangs.stop_module(job, gangs.STOP_GRACE_S)
            seconds = gangs.wait_for_end(running, began)
            state = running.state(bad)
            # By a request and not by a signal, which is for disks that cannot be written at all.
            assert (state["phase"], "stop requested" in str(state["why"])) == ("stopped", True), state["why"]
            gangs.check(running, ["stopped"])
            return seconds

    return fault


def hangs(head: bool) -> Callable[[Path, random.Random], float]:
    """Return the fault that a node's disk hangs until the node has given it up, and the other nodes have ended."""

    def fault(home: Path, turn: random.Random) -> float:
        bad = 0 if head else turn.randrange(1, gangs.NODES)
        disk = freezable(home / f"node{bad}")
        with disk as freeze, gangs.running_gang(home, turn, disk_wait=DISK_WAIT_S) as running:
            began = time.monotonic()
            freeze(True)
            try:
                seconds = gangs.wait_for_end(running, began, bad)
            finally:
                freeze(False)
            running.runners[bad].wait(gangs.PATIENCE_S)
            verdict = gangs.check(running, ["failed"], bad)
            assert f"has not answered for {DISK_WAIT_S} s" in str(verdict.why), verdict.why
            assert running.state(bad)["phase"] == "failed", "its last state is written once the disk answers"
            return seconds

    return fault


def holds_a_rank(home: Path, turn: random.Random) -> float:
    """A launcher cannot be killed because its disk hangs; the run is stopped on that node as the module does.

    The runner is on another disk: it names the launcher and ends.
    """
    bad = turn.randrange(gangs.NODES)
    disk = home / "disk"
    with freezable(disk) as freeze:
        running = gangs.make(home)
        job = running.jobs[bad]
        running.jobs[bad] = replace(job, argv=[sys.executable, "-c", WRITES, str(disk / "file")])
        with gangs.started(running):
            running.wait_phase("running")
            wait_for((disk / "file").exists, "it writes", gangs.PATIENCE_S)
            freeze(True)
            try:
                time.sleep(0.5 + turn.random())
                began = time.monotonic()
                gangs.stop_module(job, gangs.STOP_GRACE_S)
                seconds = gangs.wait_for_end(running, began)
                state = running.state(bad)
            finally:
                freeze(False)
            assert state["phase"] == "failed", f"{state['phase']}: {state['why']}"
            assert "uninterruptible" in state["why"] and str(state["launcher"]["pid"]) in state["why"], state["why"]
            verdict = gangs.verdict_of(running)
            assert verdict.verdict in ("stopped", "failed"), f"verdict {verdict.verdict} ({verdict.why})"
            wait_for(
                lambda: not process_tree.processes_of(job.run_id, job.run_dir),
                "it ends when thawed",
                gangs.PATIENCE_S,
            )
            return seconds


def hangs_shortly(home: Path, turn: random.Random) -> float:
    """A disk hangs for longer than `lost_after`: the run continues."""
    bad = turn.randrange(gangs.NODES)
    with freezable(home / f"node{bad}") as freeze, gangs.running_gang(home, turn) as running:
        freeze(True)
        try:
            time.sleep(SHORT_S)
        finally:
            freeze(False)
        return gangs.go_on(running, turn)


def all_stall(home: Path, turn: random.Random) -> float:
    """All disks stall for a minute and come back in any order: the run continues."""
    with contextlib.ExitStack() as disks:
        freezes = [disks.enter_context(freezable(home / f"node{node}")) for node in range(gangs.NODES)]
        lost_after = turn.choice([gangs.LOST_S, 12])
        running = disks.enter_context(gangs.running_gang(home, turn, lost_after=lost_after))
        for freeze in turn.sample(freezes, gangs.NODES):
            freeze(True)
        time.sleep(STALL_S)
        for freeze in turn.sample(freezes, gangs.NODES):
            freeze(False)
            time.sleep(LAST_THAW_S * turn.random())
        return gangs.go_on(running, turn)
