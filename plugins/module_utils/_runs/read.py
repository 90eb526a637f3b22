# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a run on this node, judged from what lies in its directory."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from typing import Any

from .._host.host import Host
from .._host.trust import untrusted_part
from .._records import layout
from .._records.gang import NodesDocument, NodeStatus, older
from .._records.job import SAFE_RUN_ID
from .._records.known import parse_json
from .._records.layout import HEARTBEAT, NODES, STATE
from .._records.phases import ENDED
from .._records.run import Heartbeat, JobOwner, RunRecord, UnitEnd
from .._text.stamps import seconds_of
from ..runner import locks, process_tree, unit
from . import job_container

# The starter of that name.
SLURM = "slurm"


def run_directory(workdir: str, node: str, run_id: str) -> str:
    """Return the directory of one run on this node: a real path, as the run's processes carry it."""
    if not SAFE_RUN_ID.fullmatch(run_id):
        raise ValueError(f"{run_id!r} is not a valid run ID")
    return layout.run_dir(os.path.realpath(workdir), node, run_id)


def strange(host: Host, workdir: str, node: str, directory: str) -> str | None:
    """Return which part of the path to a run is a link or another user's, and so not trusted; None where all are.

    root is trusted, and so is the owner of the work directory, for whom root and containers write. root itself reads
    only where no other user could change the path.
    """
    real = os.path.realpath(workdir)
    part = untrusted_part(host, real) if os.geteuid() == 0 else None
    if part is not None:
        return f"{part.describe()}, so another user could change what root would read: the run's files are not read"
    trusted = {0, host.user_id(), *(owner.uid for owner in [host.owner(real)] if owner)}
    files = (os.path.join(directory, name) for name in (STATE, "job.json"))
    for path in (*layout.parents(real, node), os.path.dirname(directory), directory, *files):
        if host.is_link(path):
            return f"{path} is a link, which Muster does not make: the run's files are not read"
        owner = host.owner(path)
        if owner is not None and owner.uid not in trusted:
            return f"{path} belongs to uid {owner.uid}, not to the owner of {real}: the run's files are not read"
    return None


def _read_json(host: Host, directory: str, name: str) -> Any:
    return parse_json(host.read_text(os.path.join(directory, name)))


def judge(
    state: RunRecord | None, prepared: bool, alive: bool, boot_id: str, ended: str | None = None
) -> tuple[str, str | None]:
    """Return (phase, why) of a run: what the runner wrote, unless the lock says that it cannot hold any more.

    state is None without a state file; any other file has the phase `unknown`. No living runner writes `lost`: the
    lock is free and the state is not terminal. `ended` is how, in systemd's words.
    """
    if state is None:
        if prepared:
            return "prepared", "its files are here, its runner has not started"
        if alive:
            return "running", "its files were removed; its runner is alive and makes them again"
        return "not_found", "nothing of this run is on this node"
    if state.phase == "unknown":
        return ("running" if alive else "lost"), "state.json could not be read"
    if state.phase in ENDED or alive:
        return state.phase, state.why
    if state.boot_id and boot_id and state.boot_id != boot_id:
        return "lost", f"the node was rebooted while the run was {state.phase}"
    how = ended or ("killed, as Slurm does with a step that is canceled?" if state.starter == SLURM else "killed?")
    return "lost", f"the runner (pid {state.pid}) ended without a verdict while the run was {state.phase}: {how}"


def nothing_of(node: str, run_id: str | None = None, run_dir: str | None = None) -> RunRecord:
    """Return the record of a run that this node does not have."""
    why = "nothing of this run is on this node" if run_id else "no run is in this node's work directory"
    return dataclasses.replace(RunRecord(), run_id=run_id, run_dir=run_dir, node=node, phase="not_found", why=why)


def how_ended(host: Host, directory: str, nonce: str | None) -> str | None:
    """Return what systemd said of the end of a runner that it started, None where there is no such word."""
    name = os.path.basename(unit.unit_path(directory, nonce or ""))
    return unit.explain(UnitEnd.from_dict(_read_json(host, directory, name)))


def read_state(host: Host, directory: str) -> RunRecord | None:
    """Return the state that lies in a run's directory, None where there is no such file."""
    text = host.read_text(os.path.join(directory, STATE))
    return None if text is None else RunRecord.from_dict(parse_json(text))


def read_run(host: Host, node: str, workdir: str, run_id: str, docker: Sequence[str]) -> RunRecord:
    """Return one run as it is on this node.

    docker is how Docker is called: the controller's word, never the run's.
    """
    directory = run_directory(workdir, node, run_id)
    absent = nothing_of(node, run_id, directory)
    refused = strange(host, workdir, node, directory)
    if refused is not None:
        return _read_processes(absent, directory, refused)
    names = host.list_dir(directory) or []
    held = locks.Lock(locks.run_path(directory)).holder() is not None
    marked = [] if held else process_tree.processes_of(run_id, directory)
    # A cleaner of temporary directories may have removed the lock of a living runner.
    alive = held or (run_id, directory) in map(process_tree.run_of_runner, marked)
    if not names and not alive:
        return absent
    state = read_state(host, directory)
    known = state or absent
    job = JobOwner.from_dict(_read_json(host, directory, "job.json"))
    beat = Heartbeat.from_dict(_read_json(host, directory, HEARTBEAT))
    # A runner that lives and has taken its job, but has no state: a cleaner removed it.
    taken = alive and "job.json" in names
    prepared = not taken and any(name.startswith("job.") for name in names)
    phase, why = judge(state, prepared, alive, process_tree.boot_id(), how_ended(host, directory, known.nonce))
    left = 0 if alive else len(marked)
    container = None if alive or known.phase in ENDED else job_container.recorded(host, directory, docker)
    if container is not None:
        # Another user sees no mark of a container's processes, and why it died only Docker knows.
        end, inside = job_container.describe(host, container, directory)
        why, left = f"{why}; {end}", max(left, inside)
    started = seconds_of(known.started)
    until = seconds_of(known.ended) or (time.time() if alive else None)
    return dataclasses.replace(
        known,
        run_id=run_id,
        run_dir=directory,
        node=(state and state.node) or job.node or node,
        node_rank=job.node_rank if known.node_rank is None else known.node_rank,
        phase=phase,
        why=why,
        alive=alive,
        left=left,
        elapsed_s=max(0.0, until - started) if until is not None and started is not None else None,
        progress=beat.progress,
        ranks=beat.ranks if known.ranks is None else known.ranks,
        pids=beat.pids if alive else None,
        stalled=beat.stalled if alive else [],
        heartbeat_age_s=_age(host, os.path.join(directory, HEARTBEAT)),
        log_dropped=beat.log_dropped or known.log_dropped,
    )


def read_statuses(host: Host, run: RunRecord) -> list[NodeStatus]:
    """Return what the head's runner knows of each node, as of now; nothing where this node is not the run's head."""
    if run.run_dir is None or run.node_rank != 0:
        return []
    document = NodesDocument.from_dict(_read_json(host, run.run_dir, NODES))
    if document.nonce != run.nonce:  # of an earlier launch
        return []
    age = _age(host, os.path.join(run.run_dir, NODES)) if run.alive else None
    return [older(status, age or 0.0) for status in document.nodes]


def _read_processes(absent: RunRecord, directory: str, refused: str) -> RunRecord:
    """Return what the kernel says of a run none of whose files are read, and that its directory is not to be read."""
    run_id = str(absent.run_id)
    marked = process_tree.processes_of(run_id, directory)
    alive = (run_id, directory) in map(process_tree.run_of_runner, marked)
    phase, left = ("running", 0) if alive else ("not_found", len(marked))
    return dataclasses.replace(absent, run_dir=None, phase=phase, why=refused, alive=alive, left=left)


def _age(host: Host, path: str) -> float | None:
    modified = host.modified(path)
    return None if modified is None else max(0.0, time.time() - modified)
