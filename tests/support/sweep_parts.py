# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps for tests of their pages: two parameters, two repeats, a combination that failed, and one that timed out."""

from __future__ import annotations

import itertools
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Point, Sweep

LOSSES = {(28, "Simple"): 3.0, (28, "LL128"): 2.5, (42, "Simple"): None, (42, "LL128"): 2.25, (56, "LL128"): None}
ENDS = {
    (42, "Simple"): ("failed", "node1 rank 3: ValueError: no loss at 42"),
    (56, "LL128"): ("timed_out", "time limit of 60 s reached"),
}


def sweep(**changes: Any) -> Sweep:
    """Return a sweep of six combinations, the last of which has not run."""
    axes: dict[str, list[Any]] = {"channels": [28, 42, 56], "env.NCCL_PROTO": ["LL128", "Simple"]}
    points = []
    for number, (channels, protocol) in enumerate(itertools.product(axes["channels"], axes["env.NCCL_PROTO"]), start=1):
        for repeat in (1, 2):
            loss = LOSSES.get((int(channels), str(protocol)))
            ran = (channels, protocol) != (56, "Simple")
            end, why = ENDS.get((int(channels), str(protocol)), ("succeeded", None))
            points.append(
                Point(
                    number,
                    repeat,
                    {"channels": channels, "env.NCCL_PROTO": protocol},
                    f"{number}.{repeat}",
                    end if ran else "pending",
                    f"multinode_{channels}ch_autoth_20261120_143052_point{number}.{repeat}_3f9a" if ran else None,
                    why,
                    42.0 if ran else None,
                    None if loss is None else loss + 0.1 * (repeat - 1),
                )
            )
    known = {"sweep_id": "sweep_20261120_143052_nccl", "key": "k", "created": "2026-11-20T14:30:52Z", "command": ""}
    return Sweep(**{**known, "objective": "loss", "axes": axes, "points": points, **changes})


BEFORE = {(28, "LL128"): 2.56, (28, "Simple"): 4.0, (42, "LL128"): 2.0, (42, "Simple"): 2.0, (70, "LL128"): 2.0}


def earlier_sweep(**changes: Any) -> Sweep:
    """Return a sweep over the same parameters, of which a combination is new, and those of 56 channels are missing."""
    points = [
        Point(
            number,
            repeat,
            {"env.NCCL_PROTO": protocol, "channels": str(channels)},
            f"earlier {number}.{repeat}",
            "succeeded",
            f"multinode_{channels}ch_autoth_20261020_143052_point{number}.{repeat}_8b1c",
            None,
            42.0,
            loss + 0.02 * (repeat - 1),
        )
        for number, ((channels, protocol), loss) in enumerate(BEFORE.items(), start=1)
        for repeat in (1, 2)
    ]
    axes = {"env.NCCL_PROTO": ["LL128", "Simple"], "channels": [28, 42, 70]}
    known = {"sweep_id": "sweep_20261020_143052", "key": "e", "created": "2026-10-20T14:30:52Z", "command": ""}
    return Sweep(**{**known, "objective": "loss", "axes": axes, "points": points, **changes})
