# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a run on this node, judged from what lies in its directory."""

from __future__ import annotations

import calendar
import json
import os
import re
import time
from collections.abc import Sequence
from typing import Any

from .._host.host import Host
from .._records.job import ENDED
from ..runner import locks, process_tree, unit
from ..runner.state import utc
from . import job_container

# A run id becomes a directory's name; what it may look like in full is the controller's to say.
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def muster_dir(workdir: str) -> str:
    """Return Muster's own directory below a work directory."""
    return os.path.join(workdir, ".muster")


def run_directory(workdir: str, run_id: str) -> str:
    """Return the directory of one run on this node: a real path, as the run's processes carry it."""
    if not RUN_ID.fullmatch(run_id):
        raise ValueError(f"{run_id!r} is no run id")
    return os.path.join(muster_dir(os.path.realpath(workdir)), "runs", run_id)


def strange(host: Host, workdir: str, directory: str) -> str | None:
    """Say which part of the way to a run is a link or another user's, whose word nobody takes; None where all is well.

    root's word is taken, and that of the work directory's owner, for whom root and containers write.
    """
    real = os.path.realpath(workdir)
    trusted = {0, host.user_id(), *(owner.uid for owner in [host.owner(real)] if owner)}
    files = (os.path.join(directory, name) for name in ("state.json", "job.json"))
    for path in (muster_dir(real), os.path.join(muster_dir(real), "runs"), directory, *files):
        if host.is_link(path):
            return f"{path} is a link, which Muster does not make: nothing of it is read"
        owner = host.owner(path)
        if owner is not None and owner.uid not in trusted:
            return f"{path} belongs to uid {owner.uid}, not to the owner of {real}: nothing of it is read"
    return None


def _document(host: Host, path: str) -> dict[str, Any] | None:
    text = host.read_text(path)
    try:
        value = json.loads(text or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _seconds(stamp: str | None) -> float | None:
    return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")) if stamp else None


def judge(
    state: dict[str, Any] | None, prepared: bool, alive: bool, boot_id: str, ended: str | None = None
) -> tuple[str, str | None]:
    """Return (phase, why) of a run: what the runner wrote, unless the lock says that nobody can have meant it.

    `lost` is written by nobody who lives: the lock is free and the state is not terminal. `ended` is how, in systemd's
    words.
    """
    if state is None:
        if prepared:
            return "prepared", "its files are here, its runner has not begun"
        return "not_found", "nothing of this run is on this node"
    phase, why = str(state.get("phase")), state.get("why")
    if phase in ENDED or alive:
        return phase, why
    if state.get("boot_id") and boot_id and state["boot_id"] != boot_id:
        return "lost", f"the node was rebooted while the run was {phase}"
    return "lost", "the runner (pid {}) ended without a verdict while the run was {}: {}".format(
        state.get("pid"), phase, ended or "killed?"
    )


_FROM_STATE = [
    "nonce",
    "label",
    "world_size",
    "nnodes",
    "nproc",
    "first_rank",
    "created",
    "started",
    "ended",
    "exit_code",
    "signal",
    "first",
    "failures",
    "log_tail",
    "starter",
    "memlock",
    "pid",
    "attempt",
    "gang",
    "end",
]


def nothing_of(node: str, run_id: str | None = None, run_dir: str | None = None) -> dict[str, Any]:
    """Return the `run` record of a run that this node knows nothing of."""
    return {
        "run_id": run_id,
        "run_dir": run_dir,
        "node": node,
        "node_rank": None,
        "phase": "not_found",
        "why": "nothing of this run is on this node" if run_id else "no run is in this node's work directory",
        "alive": False,
        "left": 0,
        "elapsed_s": None,
        "progress": None,
        "heartbeat_age_s": None,
        "log_dropped": 0,
        **dict.fromkeys(_FROM_STATE),
        "failures": [],
        "log_tail": [],
    }


def how_ended(host: Host, directory: str, nonce: object) -> str | None:
    """Return what systemd said of the end of a runner that it started, None where there is no such word."""
    return unit.explain(_document(host, unit.unit_path(directory, str(nonce))))


def read_run(host: Host, node: str, workdir: str, run_id: str, docker: Sequence[str]) -> dict[str, Any]:
    """Return the `run` record of one run on this node (its keys are documented in `job_info`).

    docker is how Docker is called: the controller's word, never the run's.
    """
    directory = run_directory(workdir, run_id)
    record = nothing_of(node, run_id, directory)
    refused = strange(host, workdir, directory)
    if refused is not None:
        return {**record, "why": refused}
    names = host.list_dir(directory)
    if names is None:
        return record
    state = _document(host, os.path.join(directory, "state.json"))
    job = _document(host, os.path.join(directory, "job.json")) or {}
    beat = _document(host, os.path.join(directory, "heartbeat.json")) or {}
    alive = locks.Lock(locks.run_path(directory)).holder() is not None
    prepared = any(name.startswith("job.") for name in names)
    known = state or {}
    phase, why = judge(state, prepared, alive, process_tree.boot_id(), how_ended(host, directory, known.get("nonce")))
    left = 0 if alive else len(process_tree.of_run(run_id, directory))
    container = None if alive or known.get("phase") in ENDED else job_container.recorded(host, directory, docker)
    if container is not None:
        # Of a container's processes another user sees no mark, and why it died only Docker knows.
        told, inside = job_container.tell(host, container, directory)
        why, left = f"{why}; {told}", max(left, inside)
    started, ended = _seconds(known.get("started")), _seconds(known.get("ended"))
    until = ended or (time.time() if alive else None)
    record.update({key: known[key] for key in _FROM_STATE if key in known})
    record.update(
        node=known.get("node") or job.get("node") or node,
        node_rank=known.get("node_rank", job.get("node_rank")),
        phase=phase,
        why=why,
        alive=alive,
        left=left,
        elapsed_s=max(0.0, until - started) if until is not None and started is not None else None,
        progress=beat.get("progress"),
        heartbeat_age_s=_age(host, os.path.join(directory, "heartbeat.json")),
        log_dropped=beat.get("log_dropped") or known.get("log_dropped") or 0,
    )
    return record


def read_ended(
    host: Host, node: str, workdir: str, run_id: str, docker: Sequence[str], patience: float
) -> dict[str, Any]:
    """Return the `run` record once its runner has ended, or as it is after `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        run = read_run(host, node, workdir, run_id, docker)
        if not run["alive"] or time.monotonic() >= deadline:
            return run
        time.sleep(0.2)


def _age(host: Host, path: str) -> float | None:
    modified = host.modified(path)
    return None if modified is None else max(0.0, time.time() - modified)


def list_runs(host: Host, workdir: str) -> list[dict[str, Any]]:
    """Return every run in this work directory, newest first: run_id, created, phase as last written, alive."""
    base = os.path.join(muster_dir(workdir), "runs")
    runs = []
    for name in filter(RUN_ID.fullmatch, host.list_dir(base) or []):
        if not any(
            file == "state.json" or file.startswith("job.") for file in host.list_dir(os.path.join(base, name)) or []
        ):
            continue  # somebody else's directory
        path = os.path.join(base, name)
        # Listed all the same: asked for by name, it is told why.
        refused = strange(host, workdir, path) is not None
        state = {} if refused else _document(host, os.path.join(path, "state.json")) or {}
        created = state.get("created") or utc(host.modified(path))
        phase = state.get("phase")
        alive = phase not in ENDED and locks.Lock(locks.run_path(path)).holder() is not None
        runs.append({"run_id": name, "created": created, "phase": phase, "alive": alive})
    return sorted(runs, key=lambda run: (run["created"], run["run_id"]), reverse=True)
