# SPDX-License-Identifier: GPL-3.0-or-later
"""Start one job on this node: lay out its directory, start the runner, wait until it runs or has failed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
import zipimport
from typing import Any

from .._host.host import Host
from .._host.trust import open_private
from .._records import layout
from .._records.job import Job
from .._records.likeness import read_likeness
from .._records.notice import address_of
from .._records.phases import ENDED
from .._records.run import RunRecord, StartRefusal
from ..runner import files
from ..runner.inherited import base_environment
from ..runner.locks import SLOT_WITH_HEAD_S
from .directories import make_directories
from .read import read_run, read_state
from .starters.base import NotBegun, Starter, StartError
from .starters.registry import starter_named

# Beyond the time a member waits for its slot: interpreter start, imports, a slow disk.
START_PATIENCE_S = 20.0
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_secrets(secrets: dict[str, Any]) -> dict[str, str]:
    """Return the secrets as an environment; raise StartError, never showing a value, where one cannot be."""
    for name, value in secrets.items():
        if not NAME.fullmatch(str(name)):
            raise StartError(f"launch_secrets: {str(name)[:60]!r} is not a valid environment variable name")
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or "\0" in str(value):
            raise StartError(f"launch_secrets: {name} must be a number, or text without NUL")
    return {str(name): str(value) for name, value in secrets.items()}


def _lay_out(job: Job, runner: bytes, plan: dict[str, Any] | None, private: dict[str, Any]) -> None:
    runs = layout.runs_dir(job.workdir, job.node)
    owners = make_directories(job.workdir, job.node, [layout.slots_dir(job.workdir, job.node), runs, job.run_dir])
    folder = open_private(job.run_dir, owners)
    place = f"/proc/self/fd/{folder}"  # this directory, even if another user replaces a part of its path
    try:
        _write_files(place, job, runner, plan, private)
    except OSError as error:
        path = (error.filename or place).replace(place, job.run_dir)
        raise OSError(error.errno, error.strerror, path) from error
    finally:
        os.close(folder)


def _write_files(place: str, job: Job, runner: bytes, plan: dict[str, Any] | None, private: dict[str, Any]) -> None:
    archive = os.path.join(place, "runner.pyz")
    files.write_atomic(archive, runner)
    # The training interpreter runs these, so they have to be separate files. Importing zipfile would take 12 ms.
    sources = zipimport.zipimporter(archive)
    for program in ("torchrun.py", "profiled.py", "collectives.py", "pairs.py"):
        if f"{job.run_dir}/{program}" in job.argv:
            files.write_atomic(os.path.join(place, program), sources.get_data(f"muster/runner/attempt/{program}"))
    files.write_atomic(os.path.join(place, layout.SITE), sources.get_data(layout.SITE))
    if plan is not None:
        # The same text as the controller's, so that it does not have to be collected.
        text = json.dumps(plan, indent=2) + "\n"
        files.write_atomic(os.path.join(place, f"plan.{job.nonce}.json"), text.encode())
    files.write_json(os.path.join(place, f"private.{job.nonce}.json"), private)
    files.write_json(os.path.join(place, f"job.{job.nonce}.json"), job.to_dict())


def _read(host: Host, job: Job) -> RunRecord:
    docker = ["docker"] if job.container is None else job.container.docker
    return read_run(host, job.node, job.workdir, job.run_id, docker)


def start(
    host: Host,
    job: Job,
    runner: bytes,
    plan: dict[str, Any] | None = None,
    key: str | None = None,
    secrets: dict[str, str] | None = None,
) -> tuple[bool, RunRecord]:
    """Start the job by this runner (a zipapp); return (changed, run record) once it runs, or raise StartError."""
    now = _read(host, job)
    if now.alive and now.nonce == job.nonce:
        return False, now
    private: dict[str, Any] = {"key": key, "secrets": check_secrets(secrets or {})}
    if job.notice and address_of(job.notice, private["secrets"]) is None:
        raise StartError(f"on_end: {job.notice} names no web address; put one into launch_secrets under this name")
    if job.container is None:  # a container has its own environment
        private["environment"] = base_environment(dict(os.environ))
    try:
        _lay_out(job, runner, plan, private)
    except OSError as error:
        raise StartError(f"cannot write {error.filename or job.run_dir}: {error.strerror}") from error
    starter = starter_named(job.starter)
    try:
        starter, pid = _begin(host, job, starter)
        return True, _await_running(host, job, starter, pid)
    except StartError:
        starter.clean(host, job)
        prepared = [os.path.join(job.run_dir, f"{kind}.{job.nonce}.json") for kind in ("private", "plan", "job")]
        for path in (*prepared, layout.step_command(job.run_dir, job.nonce)):
            with contextlib.suppress(OSError):
                os.unlink(path)
        raise


def runner_command(job: Job, starter: str) -> list[str]:
    """Return the runner's command line: by env(1), the same under systemd, the mark by which `stop` finds it."""
    marks = {"ROLE": "runner", "RUN_ID": job.run_id, "RUN_DIR": job.run_dir, "NONCE": job.nonce}
    marks.update(NODE=job.node, STARTER=starter)
    environment = [f"MUSTER_{name}={value}" for name, value in marks.items()]
    archive = os.path.join(job.run_dir, "runner.pyz")
    python = sys.executable if job.container is None else job.container.python
    return ["/usr/bin/env", *environment, python, archive, job.run_dir, job.nonce]


def _begin(host: Host, job: Job, starter: Starter) -> tuple[Starter, int | None]:
    try:
        return starter, starter.start(host, job, runner_command(job, starter.name))
    except StartError:
        if job.starter_fallback in (None, starter.name):
            raise
        # A systemd that does not take units; the state records which way it was.
        return _begin(host, job, starter_named(str(job.starter_fallback)))


def _await_running(host: Host, job: Job, starter: Starter, pid: int | None) -> RunRecord:
    deadline = time.monotonic() + SLOT_WITH_HEAD_S + START_PATIENCE_S
    next_look = time.monotonic() + starter.look_every
    ended: str | None = None
    refusal = os.path.join(job.run_dir, f"refused.{job.nonce}.json")
    while time.monotonic() < deadline:
        refused = files.read_json(refusal)
        if refused is not None:
            os.unlink(refusal)
            raise NotBegun(StartRefusal.from_dict(refused))
        state = read_state(host, job.run_dir) or RunRecord()
        # On several nodes a runner waits for the others, which may not have been started yet.
        started = state.phase != "waiting" or job.nnodes > 1
        if state.node_rank == job.node_rank and state.nonce == job.nonce and started:
            run = _read(host, job)
            if state.phase in ENDED and state.phase != "succeeded":
                raise StartError(f"{state.phase}: {state.why}", run.log_tail, read_likeness(state.likeness))
            return run
        if ended is None and time.monotonic() >= next_look:
            ended = starter.ended(host, job, pid)
            next_look = time.monotonic() + starter.look_every
            if ended is not None:
                deadline = min(deadline, time.monotonic() + 1.0)  # its state may be written at this moment
        time.sleep(0.05)
    raise StartError("the runner did not start" + (f": {ended}" if ended else ""), starter.last_words(host, job))
