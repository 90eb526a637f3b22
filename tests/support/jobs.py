# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs for tests: one node, any command, directories below tmp_path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records import layout
from ansible_collections.muster.train.plugins.module_utils._records.job import GangSettings, Job, Rendezvous, Variable
from ansible_collections.muster.train.plugins.module_utils.runner import files
from ansible_collections.muster.train.plugins.plugin_utils._plan.bundle import runner_zipapp

RUNNER = runner_zipapp()


def make_job(tmp_path: Path, argv: list[str], **changes: Any) -> Job:
    """Return a job that runs argv in tmp_path."""
    run_id = str(changes.get("run_id", "test_run"))
    nonce = str(changes.get("nonce", "a" * 32))
    run_dir = layout.run_dir(str(tmp_path), str(changes.get("node", "node0")), run_id)
    marks = {"MUSTER_RUN_ID": run_id, "MUSTER_RUN_DIR": run_dir, "MUSTER_NONCE": nonce}
    job = Job(
        schema=1,
        run_id=run_id,
        nonce=nonce,
        node="node0",
        node_rank=0,
        nnodes=1,
        nproc=1,
        world_size=1,
        first_rank=0,
        runtime="host",
        launcher="torchrun",
        workdir=str(tmp_path),
        run_dir=run_dir,
        output_dir=run_dir + "/outputs",
        code_dir=str(tmp_path),
        cwd=str(tmp_path),
        checkpoint_dir="",
        slot="default",
        rendezvous=Rendezvous("127.0.0.1", 29400),
        gang=GangSettings(29399, 12, 0, ["node0"]),
        argv=argv,
        environment=[Variable(name, value, "muster", "") for name, value in marks.items()],
        starter="setsid",
        starter_reason="launch_starter",
        starter_fallback=None,
        time_limit=0,
        stop_grace=10,
        abort_grace=2,
        background_wait=0,
        join_timeout=10,
        disk_wait=300,
        log_limit=1 << 20,
        label=None,
        created="2026-11-20T14:30:52Z",
    )
    return replace(job, **changes)


def prepare(job: Job, private: dict[str, Any] | None = None) -> list[str]:
    """Write the job's files as the module does; return the command line of its runner."""
    os.makedirs(job.run_dir, mode=0o700, exist_ok=True)
    os.makedirs(layout.slots_dir(job.workdir, job.node), exist_ok=True)
    archive = job.run_dir + "/runner.pyz"
    files.write_atomic(archive, RUNNER)
    files.write_json(
        f"{job.run_dir}/private.{job.nonce}.json", private or {"environment": {"PATH": os.environ["PATH"]}}
    )
    files.write_json(f"{job.run_dir}/job.{job.nonce}.json", job.to_dict())
    return [sys.executable, archive, job.run_dir, job.nonce]


def spawn(job: Job, private: dict[str, Any] | None = None, inside: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """Start the job's runner as the module does, marked and in its own session; `inside` is a prefix of the command."""
    marks = {"MUSTER_ROLE": "runner", "MUSTER_RUN_ID": job.run_id, "MUSTER_RUN_DIR": job.run_dir}
    environment = {**os.environ, **marks, "MUSTER_NONCE": job.nonce}
    return subprocess.Popen([*inside, *prepare(job, private)], env=environment, start_new_session=True)


def state_of_dir(run_dir: Path) -> dict[str, Any]:
    """Return the state document in a run directory, empty before there is one."""
    try:
        return dict(json.loads((run_dir / "state.json").read_text()))
    except (OSError, ValueError):
        return {}


def state_of(job: Job) -> dict[str, Any]:
    """Return the state document of a job, empty before there is one."""
    return state_of_dir(Path(job.run_dir))


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 180.0) -> Any:
    """Return the condition's first true value; fail with its name after so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {seconds:.0f} s")
