# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a run: the documents in its directory and the modules' answers as typed records.

A rank, a full disk or a user can write these files, so `from_dict` never raises, whatever JSON it is given. The
runner takes this file along.
"""

from __future__ import annotations

from .document import Document, as_phase, as_phases, as_stamp, as_step
from .frozen import field, frozen
from .hang import Hang
from .holder import LaunchHolder
from .transport import TransportVerdict


@frozen
class Progress(Document):
    """How far the training is, as the lowest rank of a node writes or prints it; speeds are those of all ranks."""

    OWN_READERS = {"step": as_step, "total_steps": as_step}  # noqa: RUF012

    step: float | None = None
    total_steps: float | None = None
    loss: float | None = None
    tokens_per_s: float | None = None
    first_loss: float | None = None
    samples_per_s: float | None = None
    steps_per_s: float | None = None


@frozen
class StalledNode(Document):
    """A node whose storage has not answered for some seconds."""

    node: str | None = None
    seconds: int = 0


@frozen
class Pace(Document):
    """How the nodes of a run move, as the head sees it: the slowest one with its lowest rank, and two ages in seconds.

    behind: the part of the fastest node's steps that the slowest one has not made. step_age_s: since any node's step
    changed, line_age_s: since any rank printed something.
    """

    slowest: str | None = None
    rank: int | None = None
    step: float | None = None
    behind: float | None = None
    step_age_s: float | None = None
    line_age_s: float | None = None


@frozen
class Heartbeat(Document):
    """`heartbeat.json`: a counter, the seconds since the launcher's start, and the bytes of log that were lost.

    stalled: on the head, the nodes whose storage does not answer. ranks: those that a program which starts them itself
    has reported, None where the plan gives them. pids: of the ranks, in their order; None where they are not known.
    pace: on the head, how the nodes move. raised: on the head, the ranks that raised an exception and have not ended.
    """

    count: int = 0
    progress: Progress | None = None
    elapsed_s: float | None = None
    log_dropped: int = 0
    stalled: list[StalledNode] = field(default_factory=list)
    ranks: list[int] | None = None
    pids: list[int] | None = None
    pace: Pace | None = None
    raised: list[RunWarning] = field(default_factory=list)


@frozen
class RunWarning(Document):
    """What may have harmed the run on a node although it goes on; at: its first time (UTC).

    kind: disk_full, or raised: a rank has printed an uncaught exception, text, and has not ended.
    """

    OWN_READERS = {"at": as_stamp}  # noqa: RUF012

    kind: str | None = None
    node: str | None = None
    at: str | None = None
    rank: int | None = None
    text: str | None = None


@frozen
class StopRequest(Document):
    """A stop file: why, and the seconds from SIGTERM to SIGKILL; None: the job's own."""

    why: str | None = None
    grace: float | None = None


@frozen
class StartRefusal(Document):
    """`refused.<nonce>.json`: why a runner may not begin, and who holds its slot, or without one, its run."""

    why: str | None = None
    slot: str | None = None
    holder: LaunchHolder | None = None


@frozen
class UnitEnd(Document):
    """`unit.<nonce>.json`: how the runner's systemd unit ended (systemd.exec(5), ExecStopPost)."""

    service_result: str | None = None
    exit_code: str | None = None
    exit_status: str | None = None


@frozen
class JobOwner(Document):
    """What a job file says of whose it is; in_container: its runner lives in a container."""

    OWN_READERS = {"container": lambda value: value is not None}  # noqa: RUF012

    run_id: str | None = None
    nonce: str | None = None
    node: str | None = None
    node_rank: int | None = None
    container: bool = False


@frozen
class MemlockLimits(Document):
    """The limit of locked memory in bytes, -1 for none."""

    soft: int | None = None
    hard: int | None = None


@frozen
class RankFailure(Document):
    """How a rank failed: by its exit code or a signal; time in unix seconds, exception the type of the uncaught one.

    likeness is how much it looks like the cause (`Likeness`); oom_killed: the kernel ended it for its memory.
    message is the workload's own, because what it was raised from ("caused by ValueError: x"), oom_detail what the
    runner says of memory that ran out. warnings are NCCL's, until the failure is judged.
    """

    rank: int | None = None
    local_rank: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    exception: str | None = None
    message: str | None = None
    traceback: list[str] = field(default_factory=list)
    time: float | None = None
    likeness: int | None = None
    oom_killed: bool = False
    oom_detail: str | None = None
    because: str | None = None
    log_tail: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@frozen
class NodeReport(Document):
    """What the head knows of how a node's part of an attempt ended; cause: the run's end began there."""

    OWN_READERS = {"phase": as_phase}  # noqa: RUF012

    node: str | None = None
    node_rank: int | None = None
    attempt: int | None = None
    phase: str = "unknown"
    why: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    rank: int | None = None
    exception: str | None = None
    message: str | None = None
    time: float | None = None
    traceback: list[str] = field(default_factory=list)
    likeness: int | None = None
    oom_killed: bool = False
    oom_detail: str | None = None
    step: int | None = None
    saved: bool = False
    stuck: bool = False
    cause: bool | None = None


@frozen
class EndedAttempt(Document):
    """An attempt after which the run was started again: when it ended (UTC), and the node and rank where that began."""

    OWN_READERS = {"ended": as_stamp}  # noqa: RUF012

    attempt: int | None = None
    ended: str | None = None
    verdict: str | None = None
    why: str | None = None
    node: str | None = None
    rank: int | None = None


@frozen
class GangSummary(Document):
    """What the head knows of all nodes; replaced has the spare that took a node's rank, by node."""

    OWN_READERS = {"phases": as_phases}  # noqa: RUF012

    nodes: int | None = None
    joined: int | None = None
    started: int | None = None
    attempt: int | None = None
    reports: list[NodeReport] = field(default_factory=list)
    phases: dict[str, str | None] = field(default_factory=dict)
    ended_attempts: list[EndedAttempt] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)


@frozen
class End(Document):
    """How the whole run ended, where that began, and (note) why it was not started again where it could have been.

    kind: what ended it where no node failed by itself: `hang` or `transport`.
    """

    verdict: str | None = None
    why: str | None = None
    node: str | None = None
    rank: int | None = None
    note: str | None = None
    kind: str | None = None


@frozen
class RunRecord(Document):
    """One node's part of a run: `state.json`, and what a reader of its directory adds (`run_info` documents each).

    likeness is how much the failure of this part looks like the run's cause: that of `first`, else the launcher's.
    exited_ranks and running_ranks: what the others here did when a rank failed or the node was stopped (exited: with
    code 0). alone: no rank of the run joined a process group, as the head knows. hang: where the ranks of a run are
    that makes no step, and what they wait for, as the head has concluded. transport: which fabric they use, as NCCL's
    logs prove to the head.
    """

    OWN_READERS = {  # noqa: RUF012
        "phase": as_phase,
        **dict.fromkeys(("created", "started", "first_step", "last_step", "ended"), as_stamp),
    }

    run_id: str | None = None
    run_dir: str | None = None
    node: str | None = None
    node_rank: int | None = None
    phase: str = "unknown"
    why: str | None = None
    alive: bool = False
    left: int = 0
    elapsed_s: float | None = None
    progress: Progress | None = None
    heartbeat_age_s: float | None = None
    log_dropped: int = 0
    stalled: list[StalledNode] = field(default_factory=list)
    nonce: str | None = None
    label: str | None = None
    world_size: int | None = None
    nnodes: int | None = None
    nproc: int | None = None
    first_rank: int | None = None
    ranks: list[int] | None = None
    pids: list[int] | None = None
    exited_ranks: list[int] | None = None
    running_ranks: list[int] | None = None
    alone: bool = False
    created: str | None = None
    started: str | None = None
    first_step: str | None = None
    last_step: str | None = None
    ended: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    likeness: int | None = None
    first: RankFailure | None = None
    failures: list[RankFailure] = field(default_factory=list)
    log_tail: list[str] = field(default_factory=list)
    starter: str | None = None
    memlock: MemlockLimits | None = None
    boot_id: str | None = None
    pid: int | None = None
    attempt: int | None = None
    gang: GangSummary | None = None
    end: End | None = None
    warnings: list[RunWarning] = field(default_factory=list)
    hang: Hang | None = None
    transport: TransportVerdict | None = None
