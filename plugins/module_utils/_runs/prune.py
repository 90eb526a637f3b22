# SPDX-License-Identifier: GPL-3.0-or-later
"""What of ended runs may go: their containers and directories, and nothing else.

A run directory is removed if its own files name the run, its owner may remove it, and nothing is mounted in it. A
container is removed if its label names this work directory and its run has a verdict: until then it is the only record
of how the run ended. What still runs, or cannot be judged, is kept, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from .._host.host import Host
from .._host.removal import remove_tree, rename
from .._records import layout
from .._records.frozen import frozen
from .._records.known import parse_json
from .._records.layout import HEARTBEAT, STATE
from .._records.phases import ENDED
from .._records.run import JobOwner, RunRecord
from .._system.disks import mounts_in, parse_mountinfo
from .._text.stamps import seconds_of
from ..runner import locks
from .clocks import contradiction, read_stamp
from .job_container import RUN_DIR, RUN_ID, WORKDIR, has_verdict
from .listing import list_runs
from .read import read_run, strange

DAY_S = 86400.0
# A launch that lays out its files begins within seconds; without a verdict a run is given this long.
UNJUDGED_S = 3600.0
ASK_S = 15.0
REMOVE_S = 60.0
GONE = ".gone."  # no run ID begins like this: a directory that is being removed does not count as a run
OVER = ("exited", "dead", "created")


@frozen
class PruneCandidate:
    """A container or a run directory, and why it stays (None: it goes)."""

    kind: str
    name: str
    why_kept: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        return {"kind": self.kind, "name": self.name, "why": self.why_kept}


# Run directories


def judge_runs(
    host: Host, workdir: str, node: str, days: int, docker: Sequence[str], clock: float, controller: float | None
) -> list[PruneCandidate]:
    """Judge every run directory that is older than `days`, or whose run is alive.

    clock and controller are the times of the node and of the controller; where they contradict, no run goes.
    """
    base = _base(host, workdir, node)
    run_ids = [str(listed.run_id) for listed in list_runs(host, workdir, node)]
    runs = {run_id: read_run(host, node, workdir, run_id, docker) for run_id in run_ids}
    changes = {run_id: _last_change(host, os.path.join(base, run_id), run) for run_id, run in runs.items()}
    now = read_stamp(host, base) if runs else None
    clock_problem = contradiction(now, clock, controller, max(filter(None, changes.values()), default=None))
    candidates = []
    for run_id, run in runs.items():
        path, change = os.path.join(base, run_id), changes[run_id]
        age = None if change is None else max(0.0, (clock if now is None else now) - change)
        if age is not None and age < days * DAY_S and not run.alive:
            continue
        why = _why_not(host, path, run_id, run, age) or strange(host, workdir, node, path) or clock_problem
        candidates.append(PruneCandidate("run", run_id, why))
    return candidates


def _why_not(host: Host, path: str, run_id: str, run: RunRecord, age: float | None) -> str | None:
    if run.alive:
        return f"it is {run.phase}: stop it first"
    if run.left:
        return f"{run.left} of its processes are still here: stop it first"
    if host.is_link(path):
        return "it is a link, which Muster does not make"
    if run_id not in _named(host, path):
        return "its files do not name this run"
    owner, parent = host.owner(path), host.owner(os.path.dirname(path))
    if owner is None or owner.uid not in (host.user_id(), parent and parent.uid):
        return f"its owner is {f'uid {owner.uid}' if owner else 'unknown'}"
    if age is None or (run.phase not in ENDED and age < UNJUDGED_S):
        return f"it has been {run.phase} for less than an hour"
    return _mounted(host, path)


def _mounted(host: Host, path: str) -> str | None:
    """Return what is mounted in a directory, bind mounts of the same file system included (they share its device)."""
    text = host.read_text("/proc/self/mountinfo")
    if text is None:
        return "/proc/self/mountinfo could not be read, so mounts in it are unknown"
    points = mounts_in(host.resolve(path) or path, parse_mountinfo(text))
    return f"something is mounted in it, at {points[0]}" if points else None


def _remove_tree(host: Host, path: str) -> str | None:
    why = _mounted(host, path)  # since it was judged, or since an earlier removal was interrupted
    return f"{path}: {why}" if why else remove_tree(host, path)


def _named(host: Host, path: str) -> Iterator[str]:
    """Return the run IDs that the state and job files of a directory name."""
    for name in host.list_dir(path) or []:
        if name == STATE or (name.startswith("job.") and name.endswith(".json")):
            yield str(JobOwner.from_dict(parse_json(host.read_text(os.path.join(path, name)))).run_id)


def _last_change(host: Host, path: str, run: RunRecord) -> float | None:
    """Return when a run ended or its files last changed, whichever is later."""
    times = [host.modified(os.path.join(path, name)) for name in (".", STATE, HEARTBEAT)]
    return max((time for time in [seconds_of(run.ended), *times] if time is not None), default=None)


def remove_run(host: Host, workdir: str, node: str, run_id: str) -> str | None:
    """Remove a run directory; return why it could not be. A launch of the same run meanwhile finds it held or gone."""
    base = _base(host, workdir, node)
    path, removed_path = os.path.join(base, run_id), os.path.join(base, GONE + run_id)
    lock = locks.Lock(host.here(locks.run_path(path)))
    try:
        if not lock.acquire({"run_id": run_id, "node": None, "why": "it is being removed"}):
            return "a runner has started in it"
        rename(host, path, removed_path)
    except OSError as error:
        return f"{error.filename or path}: {error.strerror}"
    finally:
        lock.release()
    return _remove_tree(host, removed_path)


def _base(host: Host, workdir: str, node: str) -> str:
    return layout.runs_dir(host.resolve(workdir) or workdir, node)


# Containers


def judge_containers(
    host: Host, workdir: str, docker: Sequence[str], now: float
) -> tuple[list[PruneCandidate], str | None]:
    """Return the containers of this work directory's runs, and why the engine did not answer (None: it did)."""
    # As plans label them: the path without links.
    label = f"label={WORKDIR}={host.resolve(workdir) or workdir}"
    labels = "\t".join('{{.Label "' + name + '"}}' for name in (RUN_ID, RUN_DIR))
    shape = "{{.Names}}\t{{.State}}\t{{.CreatedAt}}\t" + labels
    result = host.run([*docker, "ps", "--all", "--filter", label, "--format", shape], timeout=ASK_S)
    if result.missing:
        return [], None
    if result.rc != 0:
        return [], result.why(ASK_S)
    rows = [line.split("\t") for line in result.out.splitlines()]
    return [
        PruneCandidate("container", name, _why_kept(host, state, _since(created, now), run_id, run_dir))
        for name, state, created, run_id, run_dir in (row for row in rows if len(row) == 5)
        if run_id
    ], None


def _why_kept(host: Host, state: str, age: float | None, run_id: str, run_dir: str) -> str | None:
    if state not in OVER:
        return f"it is {state}: stop the run {run_id} first"
    if not host.exists(run_dir):
        return None
    if state == "created":
        is_young = age is None or age < UNJUDGED_S
        return f"it was created less than an hour ago: the launch of {run_id} may continue" if is_young else None
    return None if has_verdict(host, run_dir) else f"the run {run_id} has no verdict yet: stop it first"


def _since(created: str, now: float) -> float | None:
    """Return the seconds since a time as Docker prints it: 2026-11-21 23:51:38 +0000 UTC."""
    try:
        return now - datetime.strptime(created[:25], "%Y-%m-%d %H:%M:%S %z").timestamp()
    except ValueError:
        return None


def remove_container(host: Host, docker: Sequence[str], name: str) -> str | None:
    """Remove a container that has ended; return why it could not be. One that was started meanwhile stays."""
    result = host.run([*docker, "rm", name], timeout=REMOVE_S)
    if result.rc == 0 or "no such container" in result.err.lower():
        return None
    return result.why(REMOVE_S)


# Both


def prune(
    host: Host,
    workdir: str,
    node: str,
    *,
    days: int | None,
    containers: bool,
    docker: Sequence[str],
    now: float,
    controller: float | None = None,
    check: bool,
) -> dict[str, Any]:
    """Remove what goes; return changed, removed, kept, engine, and failed_on: what could not be removed, in words.

    days None: no run directory goes; docker is how Docker is called; now and controller are the times of the node and
    of the controller.
    """
    candidates, engine = judge_containers(host, workdir, docker, now) if containers else ([], None)
    candidates += judge_runs(host, workdir, node, days, docker, now, controller) if days is not None else []
    removed, failed = [], []
    # Containers first: the run's directory proves that they belong to it.
    for candidate in (candidate for candidate in candidates if candidate.why_kept is None):
        why = None if check else _remove(host, workdir, node, docker, candidate)
        if why is None:
            removed.append({"kind": candidate.kind, "name": candidate.name})
        else:
            failed.append(f"{candidate.kind} {candidate.name}: {why}")
    base = _base(host, workdir, node)
    swept: list[str] = []
    if days is not None:  # what an interrupted removal left
        swept = [os.path.join(base, name) for name in host.list_dir(base) or [] if name.startswith(GONE)]
    if not check:
        failed += [why for path in swept if (why := _remove_tree(host, path)) is not None]
    return {
        "changed": bool(removed or swept),
        "removed": removed,
        "kept": [candidate.to_dict() for candidate in candidates if candidate.why_kept is not None],
        "engine": engine,
        "failed_on": failed,
    }


def _remove(host: Host, workdir: str, node: str, docker: Sequence[str], candidate: PruneCandidate) -> str | None:
    if candidate.kind == "container":
        return remove_container(host, docker, candidate.name)
    return remove_run(host, workdir, node, candidate.name)
