# SPDX-License-Identifier: GPL-3.0-or-later
"""Storage of every node that does not answer for a while, against the verbs as a user types them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from ansible_collections.muster.train.tests.faults import disks
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster
from ansible_collections.muster.train.tests.support.jobs import wait_for
from ansible_collections.muster.train.tests.support.play import Played

pytestmark = pytest.mark.skipif(disks.skip_reason() is not None, reason=str(disks.skip_reason()))

Freeze = Callable[[bool], None]
# With the room that the check `disks` expects; the image is sparse.
DISK_BYTES = 512 << 20
LOST_AFTER_S = 6
# Whatever the verbs take on a loaded machine.
DISK_WAIT_S = 3600
# Longer than `LOST_AFTER_S`, and than a heartbeat may be old before `status` mentions the storage.
FROZEN_S = 20.0
PATIENCE_S = 180.0
LONG = "--seconds 3000"
SILENT = "its storage is full or does not answer"
RUNNING = {"node0": "running", "node1": "running"}


@pytest.fixture
def freezes(cluster: Cluster) -> Iterator[list[Freeze]]:
    """Two nodes with a disk each as work directory: the functions that freeze and thaw them."""
    cluster.policy.update(launch_lost_after=LOST_AFTER_S, launch_disk_wait=DISK_WAIT_S)
    cluster.write()
    with contextlib.ExitStack() as mounted:
        try:
            freezes = [
                mounted.enter_context(disks.freezable(cluster.home / "work" / node, DISK_BYTES))
                for node in cluster.names
            ]
            for stands in (True, False):
                freezes[0](stands)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no file system can be mounted and frozen here: {error}")
        yield freezes
        cluster.destroy()


@contextlib.contextmanager
def frozen(freezes: Sequence[Freeze], thaws: Sequence[Freeze]) -> Iterator[None]:
    """Freeze all disks, for `FROZEN_S` at least, and thaw them in the order of `thaws`."""
    began = time.monotonic()
    with contextlib.ExitStack() as cleanup:
        for thaw in reversed(thaws):
            cleanup.callback(thaw, False)
        for freeze in freezes:
            freeze(True)
        yield
        time.sleep(max(0.0, began + FROZEN_S - time.monotonic()))


def start_run(cluster: Cluster, script_args: str) -> None:
    """Launch a run and wait until its ranks have written their first record."""
    launched = cluster.launch(script_args=script_args)
    assert launched.rc == 0, launched.out
    wait_for(lambda: all(map(cluster.metrics, cluster.names)), "the ranks run", PATIENCE_S)


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """Return what a playbook prints up to this text."""
    assert process.stdout is not None
    stream = process.stdout.fileno()
    printed = ""

    def reads_text() -> bool:
        nonlocal printed
        if select.select([stream], [], [], 0)[0]:
            printed += os.read(stream, 1 << 16).decode()
        return text in printed

    try:
        wait_for(reads_text, f"it prints {text!r}", PATIENCE_S)
    except AssertionError as error:
        raise AssertionError(f"{error}: {printed}") from None
    return printed


def output(process: subprocess.Popen[str]) -> str:
    """Return what a playbook prints until it ends; kill it if that takes too long."""
    try:
        return process.communicate(timeout=PATIENCE_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def read_status(cluster: Cluster) -> str:
    """Return what `status` prints, with single blanks; it shows both nodes as running, and no cause."""
    process = cluster.begin("status")
    out = output(process)
    assert process.returncode == 0, out
    assert Played(0, out).phases == RUNNING, out
    assert f"{RUN_ID} running" in " ".join(out.split())
    return " ".join(out.split())


def test_a_run_whose_storage_stalls_on_all_nodes_succeeds(cluster: Cluster, freezes: list[Freeze]) -> None:
    end = cluster.home / "end"
    start_run(cluster, f"{LONG} --until {end}")
    with frozen(freezes, thaws=freezes[::-1]):
        follow = cluster.begin("follow")
        printed = read_until(follow, "\nrunning  ")
        wait_for(lambda: read_status(cluster).count(SILENT) == 2, "status names both nodes' storage", PATIENCE_S)
        assert follow.poll() is None, printed + output(follow)
    end.touch()
    printed += output(follow)
    assert follow.returncode == 0, printed
    assert Played(0, printed).phases == {"node0": "succeeded", "node1": "succeeded"}
    assert not {"failed", "lost", "stopped"} & set(printed.split()), printed
    record = cluster.record()
    assert (record["verdict"], record["why"], record["cause"]) == ("succeeded", None, None)
    assert cluster.processes() == []


def test_a_run_whose_storage_stalled_on_all_nodes_is_stopped(cluster: Cluster, freezes: list[Freeze]) -> None:
    start_run(cluster, LONG)
    with frozen(freezes, thaws=freezes):
        pass
    stopped = cluster.verb("stop", run_id=RUN_ID)
    assert stopped.rc == 0, stopped.out
    assert stopped.phases == {"node0": "stopped", "node1": "stopped"}
    assert cluster.processes() == []
