# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a node needs to stop a run (at most grace + 5 s), and how many processes are left then.

usage: python tests/benchmark/stop_times.py
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "collections"))

from ansible_collections.muster.train.plugins.module_utils._host.host import Host
from ansible_collections.muster.train.plugins.module_utils._runs.start import start
from ansible_collections.muster.train.plugins.module_utils._runs.stop import stop
from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.support.jobs import RUNNER, make_job, wait_for

GRACE = 5
OBEYS = "import time; print('up', flush=True); time.sleep(600)"
DEAF = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
PARENT = f"import subprocess,sys; subprocess.Popen([sys.executable,'-c',{DEAF!r}], start_new_session=True).wait()"


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def freeze(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


CASES = {
    "a script that obeys": (OBEYS, None, None),
    "a script that ignores SIGTERM": (DEAF, None, None),
    "a killed launcher with a deaf rank": (PARENT, "launcher", kill),
    "a killed runner with a deaf script": (DEAF, "runner", kill),
    "a frozen runner": (DEAF, "runner", freeze),
}


def is_up(log: Path) -> bool:
    return log.exists() and "up" in log.read_text()


def main() -> None:
    for name, (script, victim, harm) in CASES.items():
        with tempfile.TemporaryDirectory() as home:
            job = make_job(Path(home), [sys.executable, "-c", script])
            start(Host(), job, RUNNER)
            log = Path(job.run_dir, "logs", "node.log")
            wait_for(partial(is_up, log), "the job is up")
            if harm is not None:
                marks = {
                    p.pid: process_tree.environment(p.pid) for p in process_tree.processes_of(job.run_id, job.run_dir)
                }
                runner = next(pid for pid, mark in marks.items() if mark.get("MUSTER_ROLE") == "runner")
                launcher = next(p.pid for p in process_tree.descendants(runner))
                harm(runner if victim == "runner" else launcher)
            begun = time.monotonic()
            stop(Host(), job.node, job.workdir, job.run_id, None, GRACE, False, ["docker"])
            seconds = time.monotonic() - begun
            remaining = len(process_tree.processes_of(job.run_id, job.run_dir))
            print(f"{name:38} {seconds:5.1f} s of {GRACE + 5} s, {remaining} processes left", flush=True)


if __name__ == "__main__":
    main()
