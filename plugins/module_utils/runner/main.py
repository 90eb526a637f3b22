# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner's entry point: take the locks, lay out the run directory, and supervise the job."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping

from .._records.job import Job
from .._records.layout import HANGS, HEARTBEAT, NODES, STATE, TELEMETRY
from . import files, shared_outputs, tickets
from .claim import Refused
from .claim import take as take_claim
from .machine import Machine
from .notice import send_end
from .requests import StopRequests
from .supervisor import Supervisor
from .unit import unit_path
from .upkeep import Upkeep

REFUSED = 3
UNIT_END = ("SERVICE_RESULT", "EXIT_CODE", "EXIT_STATUS")  # systemd.exec(5), ExecStopPost


def main(argv: list[str]) -> int:
    """Run the job that the launch with this nonce prepared: ``runner.pyz RUN_DIR NONCE``. Return the exit code.

    With ``ended`` as the third argument it is the ExecStopPost of the runner's unit; ``stacks [RANK]`` prints where the
    ranks of the living run are, as JSON: inside its container, where alone they can be asked.
    """
    run_dir, nonce = argv[:2]
    if argv[2:3] == ["stacks"]:
        return print_stacks(run_dir, int(argv[3]) if argv[3:] else None)
    os.umask(0o077)
    if argv[2:] == ["ended"]:
        return note_unit_end(run_dir, nonce, os.environ)
    log = files.create(os.path.join(run_dir, "runner.log"), os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):  # errors of the runner itself go there, whatever started it
        os.dup2(log, stream)
    os.close(log)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    job = Job.from_dict(files.read_json(os.path.join(run_dir, f"job.{nonce}.json")))
    if os.environ.get("MUSTER_NODE", job.node) != job.node:
        why = f"{run_dir} has the job of {job.node}, another node; give each of the two its own launch_workdir"
        return _refuse(run_dir, nonce, Refused(why))
    private_file = os.path.join(run_dir, f"private.{nonce}.json")
    private = files.read_json(private_file) or {}
    _remove(private_file)  # the secrets live in memory from here on
    requests = StopRequests(job, run_dir)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, requests.note_signal)
    try:
        locks = take_claim(job, run_dir, lambda: requests.look() is not None)  # held until this process ends
        if job.shares_outputs:
            shared_outputs.lay_out(job)
    except Refused as refused:
        _remove(os.path.join(run_dir, f"job.{nonce}.json"))
        return _refuse(run_dir, nonce, refused)
    finally:  # it holds the slot now, or has lost its turn
        tickets.remove(tickets.queue_path(job.workdir, job.node, job.slot), nonce)
    _lay_out(job, run_dir)
    try:
        return Supervisor(job, run_dir, private, requests, Upkeep(job, run_dir, locks), Machine()).run()
    finally:  # also of a run whose runner failed
        send_end(job, files.read_json(os.path.join(run_dir, STATE)), private.get("secrets") or {})


def print_stacks(run_dir: str, rank: int | None) -> int:
    """Print the stacks of the ranks, or of one, to the standard output."""
    # No other runner takes stacks.
    from .stacks.take import take_stacks

    stacks = take_stacks(os.path.basename(run_dir), run_dir, sys.executable, rank)
    json.dump([process.to_dict() for process in stacks], sys.stdout)
    return 0


def note_unit_end(run_dir: str, nonce: str, environment: Mapping[str, str]) -> int:
    """Write how the runner's unit ended: it is forgotten with its result, which only ExecStopPost gets."""
    files.write_json(unit_path(run_dir, nonce), {name.lower(): environment.get(name) for name in UNIT_END})
    return 0


def _refuse(run_dir: str, nonce: str, refused: Refused) -> int:
    """Leave without touching the run that holds the slot; the module reads why."""
    known = {"why": str(refused), "holder": refused.holder, "slot": refused.slot}
    files.write_json(os.path.join(run_dir, f"refused.{nonce}.json"), known)
    return REFUSED


def _lay_out(job: Job, run_dir: str) -> None:
    """Make the run directory this launch's own, now that it holds the locks."""
    for name in ("job", "plan"):
        prepared = os.path.join(run_dir, f"{name}.{job.nonce}.json")
        if os.path.exists(prepared):  # only the head has a plan
            os.replace(prepared, os.path.join(run_dir, name + ".json"))
    # Files of an earlier launch of this run would be taken for this launch's.
    for name in ("errors", HANGS):
        files.remove_tree(os.path.join(run_dir, name))
    for name in (HEARTBEAT, NODES, TELEMETRY):
        _remove(os.path.join(run_dir, name))
    # torch makes no directory for what NCCL's watchdog writes.
    for name in ("errors", "logs", "outputs", *([HANGS] if job.hang_watch else [])):
        files.make_dir(os.path.join(run_dir, name))


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
