# SPDX-License-Identifier: GPL-3.0-or-later
"""Work directories as clusters have them, against the verbs as a user types them."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.tests.faults import disks
from ansible_collections.muster.train.tests.support import no_flock
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.unprivileged import open_folder

PYTHON = "/usr/bin/python3"
LATER = "multinode_1ch_autoth_20261120_143053_later"


@pytest.mark.skipif(no_flock.missing() is not None, reason=str(no_flock.missing()))
def test_a_work_directory_without_flock_is_refused_by_the_plan(cluster: Cluster) -> None:
    """As Lustre mounted without -o flock, on one node."""
    interpreter = cluster.home / "python1"
    python = cluster.policy["ansible_python_interpreter"]
    interpreter.write_text(f'#!/bin/sh\nexec {shlex.join(no_flock.command())} {python} "$@"\n')
    interpreter.chmod(0o755)
    cluster.per_node["node1"] = {"ansible_python_interpreter": str(interpreter)}
    cluster.write()
    played = cluster.launch()
    assert played.rc != 0
    [line] = played.messages
    where = cluster.home / "work" / "node1"
    assert line.startswith(f"node1: work directory: flock(2) does not work in {where} on ")
    assert ": Function not implemented" in line and "set launch_workdir to a local disk" in line
    assert not list(cluster.home.glob("work/*/.muster")), "something was laid out"
    assert not (cluster.experiments / RUN_ID).exists()


@contextlib.contextmanager
def small_disk(place: Path, size: str, inodes: int) -> Iterator[Path]:
    """Yield a file system of this size and number of inodes."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(disks.small(place, f"size={size},nr_inodes={inodes},mode=700"))
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no file system can be mounted here: {error}")
        yield place


def test_a_disk_with_too_little_room_is_refused_whatever_its_percentage(cluster: Cluster) -> None:
    work = cluster.home / "work"
    with small_disk(work / "node0", "60m", 20000) as little, small_disk(work / "node1", "1g", 200) as few:
        played = cluster.launch()
        assert played.rc != 0
        [bytes_line, inodes_line] = played.messages
        assert bytes_line.startswith(f"node0: disks: {little} ({little}) is 0 % full, 0.1 GiB free; ")
        assert "at least 0.25 GiB free" in bytes_line
        assert inodes_line.startswith(f"node1: disks: {few} ({few}): room for 199 files; ")
        assert "at least 10000 files" in inodes_line
        assert not list(work.glob("*/*")), "something was laid out"


def test_a_run_is_stopped_where_no_inode_is_left(cluster: Cluster) -> None:
    with small_disk(cluster.home / "work" / "node1", "300m", 10200) as disk:
        try:
            assert cluster.launch(script_args="--seconds 3000").rc == 0
            cluster.wait_phase(RUN_ID, "running")
            disks.use_inodes(disk)
            stopped = cluster.verb("stop", run_id=RUN_ID)
            assert stopped.rc == 0, stopped.out
            assert stopped.phases == {"node0": "stopped", "node1": "stopped"}
            assert cluster.processes() == []
        finally:
            cluster.destroy()


def test_a_success_on_a_full_disk_of_the_head_is_not_silent(cluster: Cluster) -> None:
    until = cluster.home / "until"
    with small_disk(cluster.home / "work" / "node0", "300m", 20000) as disk:
        try:
            launched = cluster.launch(script_args=f"--seconds 3000 --until {until}")
            assert launched.rc == 0, launched.out
            cluster.wait_phase(RUN_ID, "running")
            disks.fill(disk)
            until.touch()
            followed = cluster.verb("follow", run_id=RUN_ID)
            assert followed.rc == 0, followed.out
            record = cluster.record()
            [warning] = record["warnings"]
            assert (record["verdict"], warning["kind"], warning["node"]) == ("succeeded", "disk_full", "node0")
            text = f"succeeded, but the disk of node0 was full at {warning['at'][11:19]} UTC: check the last checkpoint"
            assert f"\n  {text}\n" in followed.out
            assert record["why"] == text
        finally:
            cluster.destroy()


def test_a_run_whose_files_a_cleaner_removes_is_still_known_and_stopped(cluster: Cluster) -> None:
    assert cluster.launch(script_args="--seconds 3000").rc == 0
    cluster.wait_phase(RUN_ID, "running")
    for place in cluster.home.glob("work/*/.muster"):
        while place.exists():  # against the runner, which makes it again meanwhile
            shutil.rmtree(place, ignore_errors=True)
    running = {"node0": "running", "node1": "running"}
    # Until its runner has written its state again, a run looks prepared.
    wait_for(lambda: cluster.verb("status", run_id=RUN_ID).phases == running, "status shows the run", 120)
    second = cluster.launch(run_id=LATER)
    assert second.rc != 0
    assert re.search(f"is held by (run )?{RUN_ID}", " ".join(second.out.split())), second.out
    stopped = cluster.verb("stop", run_id=RUN_ID)
    assert stopped.rc == 0, stopped.out
    assert stopped.phases == {"node0": "stopped", "node1": "stopped"}
    assert cluster.processes() == []


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("su") is None, reason="only root becomes a user by su, unasked")
@pytest.mark.skipif(not os.path.exists(PYTHON), reason=f"{PYTHON} not found, which every user can execute")
@pytest.mark.parametrize("verb", ["status", "stop", "logs"])
def test_runs_of_another_user_are_not_called_absent(verb: str) -> None:
    """Root's runs in one work directory that every user may enter, and another user who looks for them."""
    with open_folder() as folder:
        work = folder / "shared"
        become = {"ansible_become": True, "ansible_become_method": "su", "ansible_become_user": "nobody"}
        su = {"ansible_become_flags": "-s /bin/sh", "ansible_pipelining": True, "ansible_python_interpreter": PYTHON}
        cluster = Cluster(folder, policy={**become, **su, "launch_workdir": str(work)})
        (work / ".muster" / "nodes" / "node0" / "runs" / RUN_ID).mkdir(parents=True)
        (work / ".muster").chmod(0o700)
        try:
            played = cluster.verb(verb)
        finally:
            cluster.destroy()
        assert played.rc != 0
        [line] = played.messages
        assert line == (
            f"no run was found that this user can read; node0 and node1: {work}/.muster belongs to root, and nobody "
            "cannot read it: run the command as root, or set launch_workdir to the work directory of your own runs"
        )
