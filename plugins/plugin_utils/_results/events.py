# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened in a run besides its end: attempts that ended, spares that took ranks, disks that were full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.run import (
    EndedAttempt,
    GangSummary,
    RunRecord,
    RunWarning,
)

from .._text.table import one_line

# What a line shows of the reason of an attempt's end, and how many attempts and disks are listed.
WHY, SHOWN = 120, 4


def gang_of(runs: Iterable[RunRecord]) -> GangSummary:
    """Return what the head knows of all nodes, an empty summary where it does not answer; runs: one launch's."""
    return next((run.gang for run in runs if run.gang and run.node_rank == 0), GangSummary())


def stand_in(node: str, replaced: Mapping[str, str]) -> str:
    """Return who has the ranks of a node: itself, or the last of the spares that took them."""
    for _turn in replaced:  # a head could send a circle
        if node not in replaced:
            break
        node = replaced[node]
    return node


def replaced_by(replaced: Mapping[str, str]) -> dict[str, str]:
    """Return the node whose ranks each spare has; not of spares that were replaced in turn."""
    return {stand_in(node, replaced): node for node in replaced if node not in replaced.values()}


def attempt_lines(attempts: Sequence[EndedAttempt]) -> list[str]:
    """Return a line for each of the last attempts that ended before the run's end."""
    lines = [f"  attempt {_number(ended)} ended{_at(ended.ended)}: {one_line(ended.why, WHY)}" for ended in attempts]
    more = [f"  {len(lines) - SHOWN} earlier attempts ended"] if len(lines) > SHOWN else []
    return more + lines[-SHOWN:]


def attempts_data(attempts: Sequence[EndedAttempt]) -> list[dict[str, object]]:
    """Return ended attempts as plain data, counted from 1 as the tables do."""
    return [{**ended.to_dict(), "attempt": _number(ended)} for ended in attempts]


def disk_text(runs: Iterable[RunRecord]) -> str | None:
    """Return in one line whose disk was full, and when; None where none was."""
    warnings = [(run.node, warning) for run in runs for warning in run.warnings if warning.kind == "disk_full"]
    if not warnings:
        return None
    disks = [f"of {one_line(node)} was full{_at(warning.at)}" for node, warning in warnings[:SHOWN]]
    number = len(warnings) - SHOWN
    more = f", and {'that' if number == 1 else 'those'} of {number} more" if number > 0 else ""
    return f"the disk {', that '.join(disks)}{more}: check the last checkpoint"


def raised_text(warnings: Iterable[RunWarning]) -> str | None:
    """Return in one line which rank raised an exception and has not ended; None where none did."""
    raised = [warning for warning in warnings if warning.kind == "raised"]
    if not raised:
        return None
    first = min(raised, key=lambda warning: warning.at or "")
    others = f", and {len(raised) - 1} more" if len(raised) > 1 else ""
    where = f"{one_line(first.node or '?')}: rank {first.rank}"
    return f"{where} has not ended since it raised {one_line(first.text or 'an exception', WHY)}{_at(first.at)}{others}"


def _number(ended: EndedAttempt) -> int:
    return (ended.attempt or 0) + 1


def _at(stamp: str | None) -> str:
    """Return `` at 14:03:22 UTC`` for 2026-11-20T14:03:22Z."""
    return f" at {stamp[11:19]} UTC" if stamp else ""
