# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a run: the documents in its directory and the modules' answers as typed records.

A rank, a full disk or a user can write these files, so `from_dict` never raises, whatever JSON it is given: a value of
another type is None, and what is longer than any reader needs is cut. The runner takes this file along.
"""

# ruff: noqa: RUF009 (each call of _item makes a field of its own)

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from .._text.stamps import seconds_of
from .job import ACTIVE, ENDED, NOT_BEGUN, SILENT
from .known import as_dict

# In characters, lines and entries: more than a runner writes.
MOST_TEXT, MOST_LINES, MOST_PARTS, MOST_NODES = 4096, 100, 64, 16384

T = TypeVar("T")
P = TypeVar("P", bound="Document")


def as_text(value: object) -> str | None:
    """Return a text that can be encoded, None for anything else."""
    return value[:MOST_TEXT].encode("utf-8", "replace").decode() if isinstance(value, str) else None


def as_integer(value: object) -> int | None:
    """Return an integer of at most 64 bits, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63 else None


def as_number(value: object) -> float | None:
    """Return a number, which may be NaN or infinite (a loss is), None for anything else."""
    return value if isinstance(value, float) else as_integer(value)


def as_flag(value: object) -> bool:
    return value is True


def as_stamp(value: object) -> str | None:
    """Return a UTC time as Muster writes it, None for anything else."""
    return as_text(value) if seconds_of(value) is not None else None


def as_phase(value: object) -> str:
    """Return a phase, `unknown` for anything else."""
    return value if isinstance(value, str) and value in (*ACTIVE, *ENDED, *NOT_BEGUN, *SILENT) else "unknown"


def as_count(value: object) -> int:
    """Return a number of things, 0 for anything else."""
    return max(0, as_integer(value) or 0)


def as_lines(value: object) -> list[str]:
    """Return the last texts of a list, empty for anything else."""
    texts = map(as_text, value[-MOST_LINES:]) if isinstance(value, list) else []
    return [line for line in texts if line is not None]


def as_phases(value: object) -> dict[str, str | None]:
    """Return the phase of each node, None of one that never came."""
    items = list(as_dict(value).items())[:MOST_NODES]
    return {str(as_text(node)): None if given is None else as_phase(given) for node, given in items}


def _item(read: Callable[[Any], T]) -> T:
    """Declare a field with the function that reads it, which takes None for a value that is missing."""
    return dataclasses.field(default_factory=lambda: read(None), metadata={"read": read})


@dataclasses.dataclass(frozen=True)
class Document:
    """A record that is read from any JSON value."""

    @classmethod
    def from_dict(cls: type[P], data: object) -> P:
        known = as_dict(data)
        return cls(**{item.name: item.metadata["read"](known.get(item.name)) for item in dataclasses.fields(cls)})

    @classmethod
    def optional(cls: type[P], data: object) -> P | None:
        """Return the record, None for any other value than a JSON object."""
        return cls.from_dict(data) if isinstance(data, dict) else None

    @classmethod
    def several(cls: type[P], data: object) -> list[P]:
        """Return a record for each JSON object in a list."""
        items = data[:MOST_PARTS] if isinstance(data, list) else []
        return [cls.from_dict(item) for item in items if isinstance(item, dict)]

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Progress(Document):
    """How far the training is, as the lowest rank of a node writes it."""

    step: float | None = _item(as_number)
    total_steps: float | None = _item(as_number)
    loss: float | None = _item(as_number)
    tokens_per_s: float | None = _item(as_number)
    first_loss: float | None = _item(as_number)


@dataclasses.dataclass(frozen=True)
class Heartbeat(Document):
    """`heartbeat.json`: a counter, the seconds since the launcher's start, and the bytes of log that were lost."""

    count: int = _item(as_count)
    progress: Progress | None = _item(Progress.optional)
    elapsed_s: float | None = _item(as_number)
    log_dropped: int = _item(as_count)


@dataclasses.dataclass(frozen=True)
class StopRequest(Document):
    """A stop file: why, and the seconds from SIGTERM to SIGKILL; None: the job's own."""

    why: str | None = _item(as_text)
    grace: float | None = _item(as_number)


@dataclasses.dataclass(frozen=True)
class UnitEnd(Document):
    """`unit.<nonce>.json`: how the runner's systemd unit ended (systemd.exec(5), ExecStopPost)."""

    service_result: str | None = _item(as_text)
    exit_code: str | None = _item(as_text)
    exit_status: str | None = _item(as_text)


@dataclasses.dataclass(frozen=True)
class JobOwner(Document):
    """What a job file says of whose it is; in_container: its runner lives in a container."""

    run_id: str | None = _item(as_text)
    nonce: str | None = _item(as_text)
    node: str | None = _item(as_text)
    node_rank: int | None = _item(as_integer)
    container: bool = _item(lambda value: value is not None)


@dataclasses.dataclass(frozen=True)
class MemlockLimits(Document):
    """The limit of locked memory in bytes, -1 for none."""

    soft: int | None = _item(as_integer)
    hard: int | None = _item(as_integer)


@dataclasses.dataclass(frozen=True)
class RankFailure(Document):
    """How a rank failed: by its exit code or a signal; time in unix seconds, exception the type of the uncaught one.

    likeness is how much it looks like the cause (`cause.Likeness`).
    """

    rank: int | None = _item(as_integer)
    local_rank: int | None = _item(as_integer)
    exit_code: int | None = _item(as_integer)
    signal: str | None = _item(as_text)
    exception: str | None = _item(as_text)
    message: str | None = _item(as_text)
    traceback: list[str] = _item(as_lines)
    time: float | None = _item(as_number)
    likeness: int | None = _item(as_integer)
    log_tail: list[str] = _item(as_lines)


@dataclasses.dataclass(frozen=True)
class NodeReport(Document):
    """What the head knows of how a node's part of an attempt ended; cause: the run's end began there."""

    node: str | None = _item(as_text)
    node_rank: int | None = _item(as_integer)
    attempt: int | None = _item(as_integer)
    phase: str = _item(as_phase)
    why: str | None = _item(as_text)
    exit_code: int | None = _item(as_integer)
    signal: str | None = _item(as_text)
    rank: int | None = _item(as_integer)
    exception: str | None = _item(as_text)
    message: str | None = _item(as_text)
    time: float | None = _item(as_number)
    traceback: list[str] = _item(as_lines)
    likeness: int | None = _item(as_integer)
    step: int | None = _item(as_integer)
    saved: bool = _item(as_flag)
    stuck: bool = _item(as_flag)
    cause: bool | None = _item(lambda value: value if isinstance(value, bool) else None)


@dataclasses.dataclass(frozen=True)
class GangSummary(Document):
    nodes: int | None = _item(as_integer)
    joined: int | None = _item(as_integer)
    started: int | None = _item(as_integer)
    attempt: int | None = _item(as_integer)
    reports: list[NodeReport] = _item(NodeReport.several)
    phases: dict[str, str | None] = _item(as_phases)


@dataclasses.dataclass(frozen=True)
class End(Document):
    """How the whole run ended, where that began, and (note) why it was not started again where it could have been."""

    verdict: str | None = _item(as_text)
    why: str | None = _item(as_text)
    node: str | None = _item(as_text)
    rank: int | None = _item(as_integer)
    note: str | None = _item(as_text)


@dataclasses.dataclass(frozen=True)
class RunRecord(Document):
    """One node's part of a run: `state.json`, and what a reader of its directory adds (`run_info` documents each)."""

    run_id: str | None = _item(as_text)
    run_dir: str | None = _item(as_text)
    node: str | None = _item(as_text)
    node_rank: int | None = _item(as_integer)
    phase: str = _item(as_phase)
    why: str | None = _item(as_text)
    alive: bool = _item(as_flag)
    left: int = _item(as_count)
    elapsed_s: float | None = _item(as_number)
    progress: Progress | None = _item(Progress.optional)
    heartbeat_age_s: float | None = _item(as_number)
    log_dropped: int = _item(as_count)
    nonce: str | None = _item(as_text)
    label: str | None = _item(as_text)
    world_size: int | None = _item(as_integer)
    nnodes: int | None = _item(as_integer)
    nproc: int | None = _item(as_integer)
    first_rank: int | None = _item(as_integer)
    created: str | None = _item(as_stamp)
    started: str | None = _item(as_stamp)
    ended: str | None = _item(as_stamp)
    exit_code: int | None = _item(as_integer)
    signal: str | None = _item(as_text)
    first: RankFailure | None = _item(RankFailure.optional)
    failures: list[RankFailure] = _item(RankFailure.several)
    log_tail: list[str] = _item(as_lines)
    starter: str | None = _item(as_text)
    memlock: MemlockLimits | None = _item(MemlockLimits.optional)
    boot_id: str | None = _item(as_text)
    pid: int | None = _item(as_integer)
    attempt: int | None = _item(as_integer)
    gang: GangSummary | None = _item(GangSummary.optional)
    end: End | None = _item(End.optional)


@dataclasses.dataclass(frozen=True)
class ListedRun(Document):
    """A run of a work directory: its phase as last written, and whether its runner lives."""

    run_id: str | None = _item(as_text)
    created: str | None = _item(as_stamp)
    phase: str | None = _item(as_text)
    alive: bool = _item(as_flag)
