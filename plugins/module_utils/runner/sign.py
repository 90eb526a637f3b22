# SPDX-License-Identifier: GPL-3.0-or-later
"""What a runner says of its node's part with each sign of life."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._records.gang import NodeSign
from .._records.run import MemlockLimits, RunWarning
from .attempt.attempt import Attempt
from .gang.frames import short
from .state import State

# Longest reason, in bytes of JSON: a sign has to fit into a frame.
MAX_WHY_BYTES = 300


class SignMaker:
    """Makes the signs of one run on this node; it knows when the step changed."""

    def __init__(self) -> None:
        self._step: tuple[int, float | None] | None = None  # of which attempt
        self._step_at: float | None = None

    def make(
        self,
        state: State,
        attempt: Attempt | None,
        began: float | None,
        now: float,
        end: Mapping[str, Any] | None = None,
    ) -> NodeSign:
        """Return the sign of now; began: the launcher's first start, end: the fields of an attempt that has ended."""
        fields = {**state.fields, **(end or {})}
        why = fields["why"]
        sign: dict[str, Any] = {
            "phase": state.phase,
            "why": short(why, MAX_WHY_BYTES) if isinstance(why, str) else None,
            "attempt": fields["attempt"],
            "exited_ranks": fields["exited_ranks"],
            "running_ranks": fields["running_ranks"],
            "log_dropped": fields["log_dropped"],
            "starter": fields.get("starter"),
            "memlock": MemlockLimits.optional(fields["memlock"]),
            "warnings": [RunWarning.from_dict(warning) for warning in state.warnings],
        }
        if attempt is not None:
            step = attempt.last_step()
            if (state.fields["attempt"], step) != self._step:
                self._step, self._step_at = (state.fields["attempt"], step), now
                if step is not None:
                    state.note_step()
            sign.update(
                elapsed_s=round(now - (now if began is None else began), 1),
                progress=attempt.progress,
                step_age_s=None if step is None or self._step_at is None else round(now - self._step_at, 1),
                line_age_s=round(now - attempt.output.heard, 1),
                ranks=attempt.ranks,
                pids=attempt.pids if end is None else None,
                log_dropped=attempt.output.dropped(),
                transport=attempt.transport,
            )
        return NodeSign(**sign)
