# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the ranks of a run are that makes no step, as the head has concluded, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.hang import Hang
from ansible_collections.muster.train.plugins.module_utils._records.hang_verdict import describe
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord


def hang_of(runs: Iterable[RunRecord]) -> Hang | None:
    """Return what is known of a run that makes no step and prints nothing, None of any other."""
    return next((run.hang for run in runs if run.hang is not None), None)


def text_of(hang: Hang) -> str:
    """Return it in one line."""
    by = f" by {hang.at}" if hang.at else ""
    silent = f"no step and no output for {hang.silent_s:.0f} s{by}: " if hang.silent_s is not None else ""
    return f"{'hangs: ' * hang.is_certain}{silent}{describe(hang)}"


def lines(runs: Iterable[RunRecord]) -> list[str]:
    """Return the lines below the verdict: where the ranks are, and, also of a run that has ended, the files."""
    parts = list(runs)
    hang = hang_of(parts)
    if hang is None:
        return []
    is_over = all(run.phase in ENDED for run in parts)
    return [*([] if is_over else [f"  {text_of(hang)}"]), f"  stacks and collectives: hangs/{hang.folder} of each node"]


def data(runs: Iterable[RunRecord]) -> dict[str, Any] | None:
    """Return the same for programs, also of a run that has ended."""
    return data_of(hang_of(runs))


def data_of(hang: Hang | None) -> dict[str, Any] | None:
    return None if hang is None else {**hang.to_dict(), "text": describe(hang)}
