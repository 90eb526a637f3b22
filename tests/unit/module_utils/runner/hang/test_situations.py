# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look sees of real processes that print nothing: healthy ones and hangs, each as a rank."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.hang import (
    BLOCKED,
    COMPUTES,
    ENDED,
    MOVES,
    STOPPED,
    TRANSFERS,
    NodeLook,
    RankPosition,
)
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.plugins.module_utils.runner.hang.look import Looker
from ansible_collections.muster.train.plugins.module_utils.runner.stacks import sitecustomize
from ansible_collections.muster.train.tests.support.jobs import make_job, wait_for

pytestmark = pytest.mark.slow

# torch's recording as far as it matters: the last collective is not complete. And its file, with a body to choose.
PENDING = """
import json, types
entry = {"collective_seq_id": 7, "profiling_name": "gloo:all_reduce", "process_group": ["0", "default_pg"],
         "is_p2p": False, "state": "scheduled", "retired": False}
text = json.dumps({"entries": [entry]}).encode()
sys.modules["torch._C._distributed_c10d"] = types.SimpleNamespace(_dump_fr_trace_json=lambda: text)
"""
SPIN = "while True: pass"


def in_all_reduce(body: str) -> str:
    source = f"def all_reduce():\n    {body}"
    return f"{PENDING}exec(compile({source!r}, '/v/torch/distributed/distributed_c10d.py', 'exec'))\nall_reduce()"


LEFT = f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        {SPIN}
    os._exit(0)
os.wait()
time.sleep(60)
"""
THREAD = """
def train():
    time.sleep(0.7)
    time.sleep(0.9)
    train()

thread = threading.Thread(target=train)
thread.start()
thread.join()
"""
# Each program is silent from its first line on; the second part is what a look has to see.
HEALTHY = {
    "it compiles in a child": ("subprocess.run(['sh', '-c', 'while :; do :; done'])", COMPUTES),
    "it downloads into memory": ("while link.recv(65536): pass", TRANSFERS),
    "it writes a checkpoint to a slow disk": ("while not time.sleep(0.1): os.pwrite(disk, bytes(16384), 0)", TRANSFERS),
    "its data loader has left it": (LEFT, COMPUTES),
    "it computes beside a collective": (PENDING + SPIN, COMPUTES),
    "it trains in a thread": (THREAD, MOVES),
    "its interpreter is locked": ("import re; re.match('(a+)+$', 'a' * 60 + 'b')", COMPUTES),
}
SILENT = {
    "it sleeps": ("time.sleep(60)", None),
    "it is in a debugger": ("import pdb; pdb.Pdb(stdout=open(os.devnull, 'w')).set_trace(); pass", None),
    "it waits in a collective": (in_all_reduce("time.sleep(60)"), None),
    "it spins in a collective": (in_all_reduce(SPIN), COMPUTES),
    "a signal has stopped it": ("os.kill(os.getpid(), signal.SIGSTOP)", STOPPED),
    "the kernel does not let it go": ("ctypes.CDLL(None).vfork() or time.sleep(60)", BLOCKED),
    "it has ended": ("", ENDED),
}
BEGIN = """
import ctypes, os, signal, socket, subprocess, sys, threading, time
link, disk = socket.create_connection(("127.0.0.1", PORT)), os.open("disk", os.O_RDWR | os.O_CREAT)
os.write(1, b"ready\\n")
"""


def feed(listener: socket.socket) -> None:
    """Send a little to every connection for as long as the listener is open."""
    links = []
    with contextlib.suppress(OSError):
        listener.settimeout(0.1)
        while listener.fileno() >= 0:
            with contextlib.suppress(TimeoutError):
                links.append(listener.accept()[0])
                links[-1].setblocking(False)
            for link in links:
                with contextlib.suppress(OSError):  # who does not read, or has ended
                    link.send(bytes(8192))


@pytest.fixture(scope="module", params=[HEALTHY, SILENT], ids=["healthy", "silent"])
def look(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RankPosition]]:
    """Return what one look at a run sees whose ranks are in these situations, by situation."""
    folder = tmp_path_factory.mktemp("run")
    job = make_job(folder, [], nproc=len(request.param))
    run_dir = Path(job.run_dir)
    run_dir.mkdir(parents=True)
    with zipfile.ZipFile(run_dir / "site.zip", "w") as archive:
        archive.write(str(sitecustomize.__file__), "sitecustomize.py")
    marks = {"MUSTER_RUN_ID": job.run_id, "MUSTER_RUN_DIR": job.run_dir, "MUSTER_HANG_WATCH": "120"}
    children = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=feed, args=[listener], daemon=True).start()
        for rank, (program, _activity) in enumerate(request.param.values()):
            child = subprocess.Popen(
                [sys.executable, "-c", BEGIN.replace("PORT", str(listener.getsockname()[1])) + program],
                env={**os.environ, **marks, "RANK": str(rank), "PYTHONPATH": str(run_dir / "site.zip")},
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            assert child.stdout is not None and child.stdout.readline() == b"ready\n"
            children.append(child)
        (run_dir / "heartbeat.json").write_text(json.dumps({"pids": [child.pid for child in children]}))
        time.sleep(1)  # until each is where it stays
        looker = Looker(job, job.run_dir, sys.executable)
        looker.follow({"type": "look", "number": 1})
        answer: NodeLook = wait_for(looker.take_answer, "the look has ended", 60)
        by_rank = {rank: position for position in answer.positions for rank in position.ranks}
        yield {name: by_rank.get(rank, RankPosition()) for rank, name in enumerate(request.param)}
    for process in process_tree.processes_of(job.run_id, job.run_dir):
        process_tree.send(process, signal.SIGKILL)
    for child in children:
        child.communicate()


@pytest.mark.parametrize("look", [HEALTHY], indirect=True, ids=["healthy"])
@pytest.mark.parametrize("name", HEALTHY)
def test_a_rank_that_works_is_seen_to_work(look: dict[str, RankPosition], name: str) -> None:
    assert look[name].activity == HEALTHY[name][1]


@pytest.mark.parametrize("look", [SILENT], indirect=True, ids=["silent"])
@pytest.mark.parametrize("name", SILENT)
def test_a_rank_that_does_not_is_seen_as_it_is(look: dict[str, RankPosition], name: str) -> None:
    assert look[name].activity == SILENT[name][1]
