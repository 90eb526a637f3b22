# SPDX-License-Identifier: GPL-3.0-or-later
"""The death of a controller while it starts a run, and what must hold afterwards, however the nodes are reached."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import time
from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

SECRET = "x9-never-to-be-seen-4q"
POLICY = {"launch_secrets": {"MUSTER_TEST_TOKEN": SECRET}}
# A job that was laid out and that no runner has taken.
PREPARED = re.compile(r"job\.[0-9a-f]{32}\.json")
# So long must nothing change until what outlived a controller is taken to be done.
QUIET_S = 1.5


def names(directory: Path) -> list[str]:
    """Return the names in a directory, none when it is not there."""
    return sorted(os.listdir(directory)) if directory.is_dir() else []


def launch_and_strike(cluster: Cluster, how: str) -> None:
    """Strike a launching controller when it has laid out a job and no runner has taken it; return when all is quiet."""
    controller = cluster.begin("launch", script_args="--seconds 3000")
    deadline = time.monotonic() + 180
    while not any(PREPARED.fullmatch(name) for node in cluster.names for name in names(cluster.run_dir(node))):
        assert controller.poll() is None and time.monotonic() < deadline, "no job was laid out"
        time.sleep(0.001)
    strike(controller, how)
    controller.communicate(timeout=180)
    previous, since = picture(cluster), time.monotonic()
    while time.monotonic() - since < QUIET_S:
        time.sleep(0.1)
        now = picture(cluster)
        if now != previous:
            previous, since = now, time.monotonic()


def strike(controller: subprocess.Popen[str], how: str) -> None:
    """End a controller by SIGKILL, `alone` or with `everything` it has started here; or `interrupt` it (Ctrl-C)."""
    if how == "alone":
        os.kill(controller.pid, signal.SIGKILL)
    elif how == "everything":
        # Stopped first, so that nothing is born while the list is read. Its workers have process groups of their own.
        os.kill(controller.pid, signal.SIGSTOP)
        for process in [process_tree.look(controller.pid), *process_tree.descendants(controller.pid)]:
            if process is not None and "MUSTER_RUN_ID" not in process_tree.environment(process.pid):
                process_tree.send(process, signal.SIGKILL)
    else:
        os.killpg(controller.pid, signal.SIGINT)


def picture(cluster: Cluster) -> object:
    """Return all that moves while a run is started."""
    return phases(cluster), [names(cluster.run_dir(node)) for node in cluster.names], cluster.identities()


def phases(cluster: Cluster) -> dict[str, str]:
    """Return each node's phase, as the files in its run directory have it."""
    phases = {}
    for node in cluster.names:
        prepared = any(name.startswith("job.") for name in names(cluster.run_dir(node)))
        phases[node] = cluster.state(node).get("phase") or ("prepared" if prepared else "not_found")
    return phases


def check_what_is_left(cluster: Cluster) -> None:
    """After the strike: `status` is right, secrets are private, `stop` cleans, and the run can be launched again."""
    left, status = phases(cluster), cluster.verb("status")
    while phases(cluster) != left:  # what outlived the controller was slower than the quiet
        left, status = phases(cluster), cluster.verb("status")
    print("the strike left", left)  # shown when the test fails
    assert set(left.values()) <= {"not_found", "prepared", "waiting", "running"}
    assert status.rc == 0, status.out
    assert status.phases == left
    going = bool({"waiting", "running"} & set(left.values()))
    verdict = "running" if set(left.values()) == {"running"} else "partial" if going else "prepared"
    assert re.search(rf"^{RUN_ID}  {verdict}\b", status.out, re.MULTILINE), status.out
    for path in files_with(SECRET, cluster.home, cluster.local_tmp):
        assert is_private(path) or path == cluster.inventory, path

    stopped = cluster.verb("stop")
    assert stopped.rc == 0, stopped.out
    assert cluster.processes() == []
    assert set(phases(cluster).values()) <= {"not_found", "stopped"}
    assert files_with(SECRET, cluster.home / "work") == []

    again = cluster.launch(script_args="--seconds 3000")
    assert again.rc == 0, again.out
    assert [cluster.state(node)["nonce"] for node in cluster.names] == [cluster.record()["nonce"]] * 2
    assert phases(cluster) == dict.fromkeys(cluster.names, "running")


def files_with(secret: str, *places: Path) -> list[Path]:
    """Return the files that hold the secret."""
    return [path for place in places for path in files_below(place) if secret.encode() in path.read_bytes()]


def files_below(place: Path) -> list[Path]:
    """Return all files in a directory and below."""
    return [path for path in place.rglob("*") if path.is_file()]


def is_private(path: Path) -> bool:
    """Return whether only the owner can read the file or look into its directory."""
    return not (stat.S_IMODE(path.stat().st_mode) | stat.S_IMODE(path.parent.stat().st_mode)) & 0o077
