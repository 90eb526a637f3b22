# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep of the aorta scripts (`sweep_20251219_140715/256thread/nccl_28channels`), as a record of `sweep`.

What there is to read: the names of the directories, the log of the sweep, and the metrics of rank 0 of each run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._request.run_id import NONCE_DIGITS, subject_of
from .._results.aorta import AortaNode
from .record import LOST, Point, Sweep

POINT = re.compile(r"(?P<threads>\d{1,9})thread/nccl_(?P<channels>\d{1,9})channels")
LOGS = "nccl_thread_sweep_*.log"
_TIME = re.compile(r"sweep_(?P<time>\d{8}_\d{6})")
# What the sweep's log says of it as a whole, and its name in the log of a node.
_SETTING = re.compile(r"\] (Config file|Processes per node): (.+)$", re.MULTILINE)
NAMES = {"Config file": "Config File", "Processes per node": "Processes per node"}
_END = re.compile(
    r"(?:Completed|Failed) run with THREADS=(\d{1,9}), CHANNELS=(\d{1,9}) "
    r"\((?:exit code: (\d{1,9}), )?duration: (\d{1,9})s\)"
)


@frozen
class AortaPoint:
    """A run of the sweep: its directory below the sweep's, its run ID, and what the log says, as of a node."""

    path: str
    run_id: str
    parameters: Mapping[str, int]
    node: AortaNode


def points_of(names: Sequence[str], paths: Iterable[str], log: str) -> list[AortaPoint]:
    """Return the runs of a sweep in their order.

    names: of its directory and of its logs, one of which has its time; paths: of the runs. Raise ValueError without a
    time.
    """
    time = next(filter(None, map(_TIME.search, names)), None)
    if not time:
        raise ValueError("neither its name has its time, as sweep_20251219_140715 does, nor that of a log in it")
    settings = {NAMES[match[1]]: match[2].strip() for match in _SETTING.finditer(log)}
    # The last end counts: a run that failed was often started again.
    ends = {(int(end[1]), int(end[2])): end for end in _END.finditer(log)}
    points: list[AortaPoint] = []
    for threads, channels, path in sorted(_axes(path) for path in paths if POINT.fullmatch(path)):
        end = ends.get((threads, channels))
        node = AortaNode("localhost", settings, int(end[3] or 0) if end else None, float(end[4]) if end else None)
        nonce = hashlib.sha256(f"{names[0]}/{path}".encode()).hexdigest()[:NONCE_DIGITS]
        subject = subject_of(channels, threads, None, None)
        run_id = f"{subject}_{time['time']}_{nonce}"
        points.append(AortaPoint(path, run_id, {"channels": channels, "threads": threads}, node))
    return points


def sweep_of(name: str, created: str | None, points: Sequence[AortaPoint], outcomes: Mapping[str, Point]) -> Sweep:
    """Return the record of the sweep; outcomes: by run ID."""
    axes: dict[str, Any] = {
        axis: sorted({point.parameters[axis] for point in points}) for axis in ("channels", "threads")
    }
    key = hashlib.sha256(name.encode()).hexdigest()
    return Sweep(name, key, created or "", "", "loss", axes, [outcomes[point.run_id] for point in points])


def point_of(number: int, point: AortaPoint) -> Point:
    """Return a point of which nothing but its run is known."""
    pending = Point(number, 1, dict(point.parameters), key=point.run_id)
    return replace(pending, outcome=LOST, run_id=point.run_id)


def _axes(path: str) -> tuple[int, int, str]:
    match = POINT.fullmatch(path)
    return (int(match["threads"]), int(match["channels"]), path) if match else (0, 0, path)
