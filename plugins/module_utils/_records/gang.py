# SPDX-License-Identifier: GPL-3.0-or-later
"""What the head knows of every node: `nodes.json`, from the signs of life that the nodes' runners send.

Ranks can write to these files, so `from_dict` never raises here either. The runner takes this file along.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from .document import MOST_NODES, Document, as_phase
from .frozen import field, frozen
from .known import as_dict
from .run import MemlockLimits, Progress, RunWarning
from .transport import NodeTransport

# States of a node in the gang. Exited: its runner has ended, as its connection has shown.
ABSENT, JOINED, RUNNING, DRAINED, LOST, EXITED = "absent", "joined", "running", "drained", "lost", "exited"
STATES = (ABSENT, JOINED, RUNNING, DRAINED, LOST, EXITED)
# A sign that is longer in JSON leaves out its lists: a frame between runners holds 4 KiB.
MAX_SIGN_BYTES = 3000


def as_state(value: object) -> str:
    """Return a state of a node in the gang, `absent` for anything else, so that the node itself is asked."""
    return value if isinstance(value, str) and value in STATES else ABSENT


@frozen
class NodeSign(Document):
    """How a node's part of a run goes on, as its runner says with each sign of life; seconds are since the event.

    step_age_s: since the step changed, line_age_s: since the ranks printed something. The lists are None where they
    are not known, or too long for a sign.
    """

    OWN_READERS = {"phase": as_phase}  # noqa: RUF012

    phase: str = "unknown"
    why: str | None = None
    attempt: int | None = None
    elapsed_s: float | None = None
    progress: Progress | None = None
    step_age_s: float | None = None
    line_age_s: float | None = None
    ranks: list[int] | None = None
    pids: list[int] | None = None
    exited_ranks: list[int] | None = None
    running_ranks: list[int] | None = None
    log_dropped: int = 0
    starter: str | None = None
    memlock: MemlockLimits | None = None
    warnings: list[RunWarning] = field(default_factory=list)
    transport: NodeTransport | None = None

    def to_short_dict(self) -> dict[str, Any]:
        """Return it as data that fits into a frame: what is known, and without its lists where they are too long."""
        data = _known(self.to_dict())
        if len(json.dumps(data)) > MAX_SIGN_BYTES:
            for name in ("ranks", "pids", "exited_ranks", "running_ranks", "why", "warnings"):
                data.pop(name, None)
        return data


def _known(data: dict[str, Any]) -> dict[str, Any]:
    """Return what is not None or empty, in nested records too: the head reads and writes a thousand of them."""
    values = {name: _known(value) if isinstance(value, dict) else value for name, value in data.items()}
    return {name: value for name, value in values.items() if value is not None and value != []}


@frozen
class NodeStatus(Document):
    """What the head knows of a node: its state in the gang, its last sign of life, and how its part ended.

    number: its place in the plan, spares behind the nodes; node_rank: None for a spare without ranks. heard_s: seconds
    since its runner was last heard, sign_age_s: since the sign came. phase, why, exit_code, signal, stuck (processes
    stay) and ended (UTC) are of its part's end.
    """

    OWN_READERS = {"state": as_state}  # noqa: RUF012

    node: str | None = None
    number: int | None = None
    node_rank: int | None = None
    state: str = ABSENT
    heard_s: float | None = None
    stalled_s: int = 0
    sign_age_s: float | None = None
    sign: NodeSign | None = None
    phase: str | None = None
    why: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    stuck: bool = False
    ended: str | None = None


@frozen
class NodesDocument:
    """`nodes.json` on the head: of which launch it is, and what the head knows of each node."""

    nonce: str | None
    nodes: list[NodeStatus]

    @classmethod
    def from_dict(cls, data: object) -> NodesDocument:
        values = as_dict(data)
        nonce, nodes = values.get("nonce"), values.get("nodes")
        return cls(nonce if isinstance(nonce, str) else None, read_nodes(nodes))


def read_nodes(data: object) -> list[NodeStatus]:
    """Return the status of each node in a list, however long a gang can be; empty for anything else."""
    items = data[:MOST_NODES] if isinstance(data, list) else []
    return [NodeStatus.from_dict(item) for item in items if isinstance(item, dict)]


def older(status: NodeStatus, seconds: float) -> NodeStatus:
    """Return a status that was written so many seconds ago as it is now, and its sign as if it had just come."""
    sign = status.sign
    if sign is not None:
        since = (status.sign_age_s or 0.0) + seconds
        ages: dict[str, Any] = {
            name: _later(getattr(sign, name), since) for name in ("step_age_s", "line_age_s", "elapsed_s")
        }
        sign = dataclasses.replace(sign, **ages)
    return dataclasses.replace(status, sign=sign, sign_age_s=None, heard_s=_later(status.heard_s, seconds))


def _later(age: float | None, seconds: float) -> float | None:
    return None if age is None else round(age + seconds, 1)
