# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of the status table: one for each node, of many nodes one for those that are alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress, RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.spans import spans

from .._text.table import node_names, one_line
from .progress import speed_text
from .verdict import is_idle_spare

# So many nodes have a row each. Of more, those that are alike share one, so that the table fits a screen.
FEW_NODES = 8
MOST_ROWS = 16
# A node whose step or speed is further from the others' is not alike.
SPREAD = 0.1
# Of a node, as the parameter nproc has it.
MOST_RANKS = 1024
MORE = "-e all=true shows each node"
Cells = tuple[str, ...]
Typical = tuple[float | None, float | None]


def status_rows(
    runs: Sequence[RunRecord], replaced: Mapping[str, str], remarks: Callable[[RunRecord], str], every: bool
) -> list[Cells]:
    """Return the cells of each row; replaced has the node whose ranks a spare took."""
    if every or len(runs) <= FEW_NODES:
        return [_row(run, replaced, remarks) for run in runs]
    groups: dict[tuple[object, ...], list[RunRecord]] = {}
    typical = _typical(runs)
    for run in runs:
        groups.setdefault((*_likeness(run, replaced, remarks), _is_typical(run, typical)), []).append(run)
    rows: list[Cells] = []
    # A node for which there is no room is in the last row; the largest groups leave room for most.
    ordered = sorted(groups.values(), key=len, reverse=True)
    kept = {id(group) for group in ordered[: MOST_ROWS - (len(ordered) > MOST_ROWS)]}
    for group in groups.values():
        if id(group) in kept:
            rows.append(_row(group[0], replaced, remarks) if len(group) == 1 else _group_row(group, remarks))
    if others := [run for group in groups.values() if id(group) not in kept for run in group]:
        phases = ", ".join(dict.fromkeys(str(run.phase) for run in others))
        rows.append((node_names([str(run.node) for run in others]), "", phases, *[""] * 7, f"each differs: {MORE}"))
    return rows


def _likeness(run: RunRecord, replaced: Mapping[str, str], remarks: Callable[[RunRecord], str]) -> tuple[object, ...]:
    """Return what nodes of one row have in common."""
    return run.phase, is_idle_spare(run), run.nproc, replaced.get(str(run.node)), remarks(run)


def _typical(runs: Iterable[RunRecord]) -> Typical:
    """Return the step and the speed in the middle of all."""
    progress = [run.progress for run in runs if run.progress]
    steps = [part.step for part in progress if part.step is not None]
    rates = [part.tokens_per_s for part in progress if part.tokens_per_s is not None]
    return median(steps) if steps else None, median(rates) if rates else None


def _is_typical(run: RunRecord, typical: Typical) -> bool:
    progress = run.progress or Progress()
    return _is_near(progress.step, typical[0]) and _is_near(progress.tokens_per_s, typical[1])


def _is_near(value: float | None, middle: float | None) -> bool:
    return value is None or middle is None or abs(value - middle) <= SPREAD * abs(middle)


def _row(run: RunRecord, replaced: Mapping[str, str], remarks: Callable[[RunRecord], str]) -> Cells:
    progress = run.progress or Progress()
    rate, rank, node = progress.tokens_per_s, run.node_rank, replaced.get(str(run.node))
    return (
        str(run.node),
        "" if rank is None else "spare" if is_idle_spare(run) else f"{rank}{_for(node)}",
        str(run.phase),
        _ranks(run),
        spans(run.pids or ()),
        _step(progress),
        losses(progress),
        "" if rate is None else f"{rate:,.0f}",
        speed_text(progress) if rate is None else "",
        duration(run.elapsed_s),
        remarks(run),
    )


def _group_row(group: Sequence[RunRecord], remarks: Callable[[RunRecord], str]) -> Cells:
    """Return one row for alike nodes: their numbers as ranges, the loss of the first."""
    progress = [run.progress for run in group if run.progress]
    ranked = [run.node_rank for run in group if run.node_rank is not None]
    rates = [part.tokens_per_s for part in progress if part.tokens_per_s is not None]
    elapsed = [run.elapsed_s for run in group if run.elapsed_s is not None]
    return (
        node_names([str(run.node) for run in group]),
        "spare" if is_idle_spare(group[0]) else spans(ranked),
        str(group[0].phase),
        spans(rank for run in group for rank in _rank_numbers(run)),
        "",
        _steps(progress),
        losses(progress[0]) if progress else "",
        _between([f"{rate:,.0f}" for rate in sorted(rates)]),
        speed_text(progress[0]) if progress and not rates else "",
        duration(max(elapsed, default=None)),
        remarks(group[0]),
    )


def _steps(progress: Sequence[Progress]) -> str:
    """Return ``398-400/1000``, with the total where it is one for all."""
    steps = sorted(part.step for part in progress if part.step is not None)
    totals = {part.total_steps for part in progress}
    total = next(iter(totals)) if len(totals) == 1 else None
    shown = _between([f"{step:.0f}" for step in steps])
    return shown if total is None or not shown else f"{shown}/{total:.0f}"


def _between(texts: Sequence[str]) -> str:
    """Return the first and the last of sorted texts, one where they are the same."""
    return "-".join(dict.fromkeys([*texts[:1], *texts[-1:]]))


def _for(node: str | None) -> str:
    return f" (for {one_line(node)})" if node else ""


def _ranks(run: RunRecord) -> str:
    first, count = run.first_rank, run.nproc
    if run.ranks is not None:
        return spans(run.ranks)
    if first is None or not count or is_idle_spare(run):
        return ""
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _rank_numbers(run: RunRecord) -> Iterable[int]:
    """Return a node's ranks, no more than a launch can ask for."""
    if run.ranks is not None:
        return run.ranks
    if run.first_rank is None or is_idle_spare(run):
        return ()
    return range(run.first_rank, run.first_rank + min(run.nproc or 0, MOST_RANKS))


def number(value: object) -> float | None:
    """Return a JSON number, None for anything else that a workload may have written, or beyond all floats."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def number_text(value: float) -> str:
    """Return a number as it is read: `24,475`, `2.134`."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def duration(seconds: object) -> str:
    """Return ``31 s``, ``12 min 5 s``, ``3 h 07 min`` or ``2 d 4 h``; empty when it is not known."""
    value = number(seconds)
    if value is None or not math.isfinite(value):
        return ""
    whole = int(value)
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if hours >= 48:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60:02d} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def losses(progress: Progress | None) -> str:
    """Return ``5.55 -> 1.93``: the first and the last loss of a rank."""
    first, last = (progress.first_loss, progress.loss) if progress else (None, None)
    return " -> ".join(f"{value:.3g}" for value in (first, last) if value is not None)


def _step(progress: Progress) -> str:
    step, total = progress.step, progress.total_steps
    return "" if step is None else f"{step:.0f}" if total is None else f"{step:.0f}/{total:.0f}"
