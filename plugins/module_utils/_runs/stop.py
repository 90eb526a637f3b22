# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop one run on this node: ask its runner, wait, sweep what is left, and touch nothing else."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import time
from collections.abc import Callable, Sequence

from .._host.host import Host
from .._records.frozen import field, frozen
from .._records.job import Job
from .._records.known import as_dict
from .._records.layout import HEARTBEAT, STATE
from .._records.phases import ENDED
from .._records.run import JobOwner, RunRecord, StopRequest
from .._text.stamps import utc
from ..runner import files, locks, process_tree, tickets
from ..runner.process import Process
from ..runner.state import State, identity
from . import job_container
from .job_container import ContainerReference, EngineError
from .read import how_ended, judge, read_run, read_state, run_directory, strange

POLL_S = 0.2
# What the runner itself may need beyond the grace: its tick, its kill of the tree, its last words.
RUNNER_SLACK_S = 4.0
SWEEP_GRACE_S = 5.0
# A runner with a heartbeat this recent is alive.
BEATS_WITHIN_S = 3.0
# A runner that has ended takes its container along; only one that does not is ended from outside.
CONTAINER_GRACE_S = 3
# A runner may have been started while this module looked.
TURNS = 3
NONCE = re.compile(r"[0-9a-f]{32}")
# What a launch lays out and its runner takes or removes; a half-written one ends with the writer's pid.
PREPARED = re.compile(r"(?:job|plan|private)\.([0-9a-f]{32})\.json(?:\.\d+\.new)?")


@frozen
class Swept:
    """How many processes were ended that had no runner, and the pids that SIGKILL does not end."""

    swept: int = 0
    unkillable: list[int] = field(default_factory=list)


def _nonces(directory: str, host: Host) -> set[str]:
    """Return the launches that prepared or hold this run directory."""
    nonces: set[str] = set()
    for name in host.list_dir(directory) or []:
        if match := PREPARED.fullmatch(name):  # a launch that is still laying out its files has no job yet
            nonces.add(match.group(1))
        if name.startswith("job.") and name.endswith(".json"):
            # It becomes part of a path, and a container can write these files.
            nonce = JobOwner.from_dict(files.read_json(os.path.join(directory, name))).nonce
            nonces.update(filter(NONCE.fullmatch, [nonce or ""]))
    return nonces


def _ask(directory: str, nonces: set[str], grace: float) -> set[str]:
    """Write the request for each launch; return those for which it is written: a signal is the others' request."""
    written = set()
    for nonce in nonces:
        # An empty file is a request too, with the run's own grace period.
        request = StopRequest("stop requested", grace)
        with contextlib.suppress(OSError):
            files.write_request(os.path.join(directory, "stop." + nonce), request.to_dict())
            written.add(nonce)
    return written


def _wait_gone(run_id: str, directory: str, nonce: str | None, seconds: float) -> list[Process]:
    deadline = time.monotonic() + seconds
    while True:
        left = process_tree.processes_of(run_id, directory, nonce)
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(POLL_S)


def _holds(directory: str, nonce: str | None) -> bool:
    holder = locks.Lock(locks.run_path(directory)).holder()
    return holder is not None and nonce in (None, holder.get("nonce"))


def _wait_ended(run_id: str, directory: str, nonce: str | None, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    _wait_gone(run_id, directory, nonce, seconds)
    while _holds(directory, nonce) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    # A runner that still lives waits for processes that SIGKILL has not ended, and names them then.
    deadline += process_tree.UNKILLABLE_AFTER_S
    while _holds(directory, nonce) and _beats(directory) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def sweep(run_id: str, directory: str, nonce: str | None, grace: float) -> tuple[int, list[int]]:
    """End the processes that carry the run's mark and have no runner; return (how many, pids that do not die)."""
    targets = process_tree.processes_of(run_id, directory, nonce)
    for process in targets:
        process_tree.send(process, signal.SIGTERM)
    left = _wait_gone(run_id, directory, nonce, grace) if targets else []
    for process in left:
        process_tree.send(process, signal.SIGKILL)
    left = _wait_gone(run_id, directory, nonce, SWEEP_GRACE_S) if left else []
    return len(targets), [process.pid for process in left]


def stop(
    host: Host,
    node: str,
    workdir: str,
    run_id: str,
    nonce: str | None,
    grace: float,
    check: bool,
    docker: Sequence[str],
) -> tuple[bool, RunRecord, Swept]:
    """Stop the run here; return (changed, run record, what had no runner).

    With a nonce only that launch is stopped: the loser of a race must not stop the winner.
    docker is how Docker is called.
    """
    directory = run_directory(workdir, node, run_id)
    if nonce is not None and not check:
        tickets.remove_launch(workdir, node, nonce)
    if strange(host, workdir, node, directory) is not None:
        return _stop_processes(directory, nonce, grace, check, lambda: read_run(host, node, workdir, run_id, docker))
    container: ContainerReference | None = None
    changed = False
    swept = 0
    unkillable: list[int] = []
    for _turn in range(TURNS):
        nonces = _nonces(directory, host) if nonce is None else {nonce}
        # Requested before the search: a runner that starts in the meantime finds the request.
        if not check and _prepared(host, directory, nonce):
            _ask(directory, nonces, grace)
        alive = process_tree.processes_of(run_id, directory, nonce)
        # A runner in another pid namespace is not visible; its lock is, and its container.
        held = _holds(directory, nonce)
        container = container or job_container.recorded(host, directory, docker, nonce)
        in_container = _runs_in(host, container, directory, nonce)
        if (alive or held or in_container) and not check:
            runners = list(filter(process_tree.is_runner, alive))
            written = _ask(directory, nonces, grace)
            for runner in runners:
                if process_tree.nonce_of(runner) not in written:
                    process_tree.send(runner, signal.SIGTERM)
            if held or runners:
                _wait_ended(run_id, directory, nonce, grace + RUNNER_SLACK_S)
                grace = 0.0  # the runner has given it, or hangs
            ended, unkillable = _end_container(host, container, directory, nonce, grace)
            more, left = sweep(run_id, directory, nonce, grace)
            swept, unkillable = swept + ended + more, unkillable + left
        discarded = _discard(host, directory, nonce, check)
        changed = changed or bool(alive) or held or in_container or discarded
        if not check and nonce is None:
            _record_lost(host, directory, swept, container)
        run = read_run(host, node, workdir, run_id, docker)
        # A launch may have laid out its files since this turn's look at them.
        if check or not (discarded or run.phase == "prepared"):
            break
    # A runner that was killed before it wrote a state has no end to report.
    over = run.phase in ENDED or not host.exists(os.path.join(directory, STATE))
    if container is not None and not check and over:
        _drop(host, container, directory, nonce)
    return changed, run, Swept(swept, unkillable)


def _stop_processes(
    directory: str, nonce: str | None, grace: float, check: bool, read: Callable[[], RunRecord]
) -> tuple[bool, RunRecord, Swept]:
    """Stop a run by the marks of its processes alone, where its directory is not to be trusted."""
    run_id = os.path.basename(directory)
    marked = process_tree.processes_of(run_id, directory, nonce)
    if check or not marked:
        return bool(marked), read(), Swept()
    runners = list(filter(process_tree.is_runner, marked))
    for runner in runners:
        process_tree.send(runner, signal.SIGTERM)
    if runners:
        _wait_gone(run_id, directory, nonce, grace + RUNNER_SLACK_S)
    swept = Swept(*sweep(run_id, directory, nonce, 0.0 if runners else grace))
    run = read()
    if run.phase == "not_found" and not swept.unkillable:
        why = f"its processes were ended; how the run itself ended is not known: {run.why}"
        run = dataclasses.replace(run, phase="stopped", why=why)
    return True, run, swept


def _runs_in(host: Host, container: ContainerReference | None, directory: str, nonce: str | None) -> bool:
    """Return whether the run's container runs; a container that Docker cannot inspect is not touched."""
    try:
        state = None if container is None else job_container.look(host, container)
    except EngineError:
        return False
    return state is not None and state.running and job_container.ours(state, directory, nonce)


def _end_container(
    host: Host, container: ContainerReference | None, directory: str, nonce: str | None, grace: float
) -> tuple[int, list[int]]:
    """End a container whose runner is gone or does not end; return (processes in it, pids that do not die)."""
    if container is None or not _runs_in(host, container, directory, nonce):
        return 0, []
    inside = job_container.processes(host, container)
    job_container.end(host, container, max(int(grace), CONTAINER_GRACE_S))
    if not _runs_in(host, container, directory, nonce):
        return len(inside), []
    return len(inside), job_container.processes(host, container)


def _drop(host: Host, container: ContainerReference, directory: str, nonce: str | None) -> None:
    """Remove the run's container: how it ended is recorded by now."""
    try:
        if job_container.ours(job_container.look(host, container), directory, nonce):
            job_container.remove(host, container)
    except EngineError:
        return


def _prepared(host: Host, directory: str, nonce: str | None) -> list[str]:
    """Return the files of launches whose runners have not started."""
    matches = [match for match in map(PREPARED.fullmatch, host.list_dir(directory) or []) if match]
    return [match.group() for match in matches if nonce in (None, match.group(1))]


def _beats(directory: str) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - os.stat(os.path.join(directory, HEARTBEAT)).st_mtime < BEATS_WITHIN_S
    return False


def _discard(host: Host, directory: str, nonce: str | None, check: bool) -> bool:
    """Remove what launches prepared whose runner never began: it holds the login's environment and the secrets."""
    names = _prepared(host, directory, nonce)
    if check or not names:
        return bool(names)
    if nonce is None and not host.exists(os.path.join(directory, STATE)):
        for name in names:
            if not name.startswith("job."):
                continue
            document = files.read_json(os.path.join(directory, name))
            with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):  # forged, or of another version
                State(directory, identity(Job.from_dict(document))).change("stopped", why="stopped before it started")
    for name in names:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(directory, name))
    return True


def _record_lost(host: Host, directory: str, swept: int, container: ContainerReference | None) -> None:
    """Write the end of a run whose runner died without a verdict, so that no later reader has to judge it again."""
    state = read_state(host, directory)
    if state is None or state.phase in ENDED:
        return
    if locks.Lock(locks.run_path(directory)).holder() is not None:
        return
    why = judge(state, False, False, process_tree.boot_id(), how_ended(host, directory, state.nonce))[1]
    why = f"{why}; stop swept {swept} process{'es' * (swept != 1)}"
    if container is not None:
        why += f"; {job_container.describe(host, container, directory)[0]}"
    last = host.modified(os.path.join(directory, HEARTBEAT))  # the best known time of its end
    document = as_dict(files.read_json(os.path.join(directory, STATE)))
    document.update(phase="lost", why=why, ended=utc(last))
    document.setdefault("run_id", os.path.basename(directory))
    files.write_state(directory, STATE, document)
