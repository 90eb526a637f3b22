# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner's documents: `state.json` (durable, one of a few phases), and the cheap `heartbeat.json` (a counter).

The head's runner also writes `nodes.json`, what it knows of each node.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import os
import resource
from collections.abc import Callable
from typing import Any

from .._records.cause import message_of
from .._records.job import Job
from .._records.layout import HEARTBEAT, NODES, STATE
from .._records.phases import ENDED
from .._records.run import Heartbeat, Progress, RankFailure, RunWarning
from .._text.stamps import utc
from . import files, process_tree
from .gang.frames import short

# Of the job, what its state repeats.
IDENTITY = ("run_id", "nonce", "node", "node_rank", "nnodes", "nproc", "first_rank", "world_size", "label", "created")


# Of the exception in a warning: signs of life have to fit into a frame.
MAX_TEXT_BYTES = 300

# What an attempt that has not ended has of its end.
NOT_ENDED: dict[str, Any] = {
    **dict.fromkeys(("why", "exit_code", "signal", "likeness", "first", "ranks", "exited_ranks", "running_ranks")),
    "alone": False,
    "failures": [],
    "log_tail": [],
}


def memlock() -> dict[str, int]:
    """Return the effective RLIMIT_MEMLOCK in bytes, -1 for unlimited."""
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return {"soft": soft, "hard": hard}


def identity(job: Job) -> dict[str, Any]:
    """Return the fields that identify the run and the node of a state."""
    return {name: getattr(job, name) for name in IDENTITY}


def write_now(_document: str, write: Callable[[], None], _last: bool) -> None:
    """Write a document without a disk thread."""
    write()


class State:
    """The state document of one run on one node.

    `put` gets the name of a document, the call that writes it, and whether that comes after all else.
    """

    def __init__(
        self, run_dir: str, fields: dict[str, Any], put: Callable[[str, Callable[[], None], bool], None] = write_now
    ) -> None:
        self._run_dir = run_dir
        self._put = put
        self._unwritten = False
        process = process_tree.look(os.getpid())
        self.fields: dict[str, Any] = {
            "schema": 1,
            "attempt": 0,
            "phase": "waiting",
            "boot_id": process_tree.boot_id(),
            "pid": os.getpid(),
            "start_time": process.start_time if process else 0,
            "memlock": memlock(),
            **dict.fromkeys(
                ("launcher", "started", "first_step", "last_step", "ended", "gang", "end", "hang", "transport")
            ),
            "log_dropped": 0,
            **NOT_ENDED,
            **fields,
        }
        self._beats = 0
        self.warnings: list[dict[str, Any]] = []  # of the disk thread, which adds them to what it writes

    @property
    def phase(self) -> str:
        return str(self.fields["phase"])

    @property
    def is_written(self) -> bool:
        """Whether the storage took the state the last time that it answered."""
        return not self._unwritten

    def change(self, phase: str, **fields: Any) -> None:
        """Move to a phase, or write the state of this one again."""
        self.fields.update(fields, phase=phase)
        if phase in ENDED:
            self.fields["ended"] = self.fields["ended"] or utc()
        self._write()

    def note_step(self) -> None:
        """Note the time of a step, which the next write of the state has."""
        self.fields["last_step"] = utc()
        self.fields["first_step"] = self.fields["first_step"] or self.fields["last_step"]

    def beat(self, read_progress: Callable[[], Progress | None], heartbeat: Heartbeat) -> None:
        """Write the next heartbeat with its count and the progress, and the state again if it could not be written."""
        self._put(HEARTBEAT, functools.partial(self._save_beat, read_progress, heartbeat), False)
        if self._unwritten:
            self._write()

    def write_nodes(self, statuses: list[dict[str, Any]] | None) -> None:
        """Write what the head knows of each node; None, on any other node, writes nothing."""
        if statuses is not None:
            document = {"nonce": self.fields.get("nonce"), "nodes": statuses}
            self._put(NODES, functools.partial(self._save_nodes, document), False)

    def warn_of(self, rank: RankFailure) -> None:
        """Note that a rank has raised an exception and has not ended."""
        if any(warning["kind"] == "raised" and warning["rank"] == rank.rank for warning in self.warnings):
            return
        text = short(message_of(rank, rank.message) or "", MAX_TEXT_BYTES)
        warning = RunWarning("raised", self.fields.get("node"), utc(), rank.rank, text)
        self.warnings = [*self.warnings, warning.to_dict()]
        self._unwritten = True

    def _save_nodes(self, document: dict[str, Any]) -> None:
        # Without it the nodes are asked themselves. A member may nest lists deeper than Python writes.
        with contextlib.suppress(OSError, RecursionError):
            files.write_json(os.path.join(self._run_dir, NODES), document, durable=False)

    def _write(self) -> None:
        last = self.phase in ENDED
        # A copy: what it refers to goes on changing.
        self._put(STATE, functools.partial(self._save, copy.deepcopy(self.fields), last), last)

    def _save(self, fields: dict[str, Any], last: bool) -> None:
        self._unwritten = not files.write_state(self._run_dir, STATE, {**fields, "warnings": self.warnings}, last)

    def _save_beat(self, read_progress: Callable[[], Progress | None], heartbeat: Heartbeat) -> None:
        self._beats += 1
        document = dataclasses.replace(heartbeat, count=self._beats, progress=read_progress())
        try:
            files.write_json(os.path.join(self._run_dir, HEARTBEAT), document.to_dict(), durable=False)
        except OSError as error:  # a full disk costs this beat only
            if error.errno in files.NO_ROOM and not any(item["kind"] == "disk_full" for item in self.warnings):
                # The ranks' files, such as a checkpoint, had no room either.
                self.warnings = [*self.warnings, RunWarning("disk_full", self.fields.get("node"), utc()).to_dict()]
                self._unwritten = True
        if not os.path.exists(os.path.join(self._run_dir, STATE)):  # a cleaner has removed it
            self._unwritten = True
