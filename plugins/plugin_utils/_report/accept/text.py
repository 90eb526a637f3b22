# SPDX-License-Identifier: GPL-3.0-or-later
"""An acceptance as a person reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..._page.page import count
from ..._results.rows import duration
from ..._text.table import names as names_text
from ..benchmark.text import bandwidth, percent
from .acceptance import Acceptance, Change
from .outcome import FAIL, PASS, UNKNOWN, StageOutcome
from .profile import SCOPES, VARIABLE, StageThreshold

HEADERS = ("stage", "verdict", "expected", "time", "result")
CHANGE_HEADERS = ("stage", "what", "before", "now", "change")
TITLES = {
    "preflight": "checks of every node",
    "intra": "all_reduce among the ranks of each node",
    "rails": "all_reduce among the ranks of the same number on each node",
    "all": "all_reduce among all ranks",
    "pairs": "search for the slow node, rail or link",
}
REMEDIES = {
    "preflight": "see preflight.html for each check and its remedy",
    "intra": "see the page of the benchmark, and the links of the slowest node with muster.train.gpus",
    "rails": "see the page of the benchmark, and the adapters with muster.train.rdma",
    "all": "see the page of the benchmark, and which stage before it failed, too",
    "pairs": "see the page of the search for the remedy of each finding",
}
NO_THRESHOLD = f"set what is expected in {VARIABLE} of the inventory (docs/accept.md)"

NO_LIMIT = f"give busbw_gb_per_s alone in {VARIABLE}, or what the limit is computed from (docs/benchmark.md#the-limit)"


def threshold_text(threshold: StageThreshold) -> str:
    """Return what is expected of a stage: `at least 440 GB/s and 80 % of the limit`."""
    parts = [] if threshold.busbw_gb_per_s is None else [f"{bandwidth(threshold.busbw_gb_per_s)} GB/s"]
    parts += [] if threshold.of_limit is None else [f"{percent(threshold.of_limit)} of the limit"]
    return f"at least {' and '.join(parts)}"


def conclusion(acceptance: Acceptance) -> str:
    """Return the verdict, in one line."""
    stages = [stage for stage in acceptance.stages if stage.applies]
    by_verdict = {verdict: [s.name for s in stages if s.verdict == verdict] for verdict in (PASS, FAIL, UNKNOWN)}
    apart = [stage.name for stage in acceptance.stages if not stage.applies]
    parts = []
    if failed := by_verdict[FAIL]:
        parts.append(f"{_stages(failed)} failed")
    if unknown := by_verdict[UNKNOWN]:
        parts.append(f"{_stages(unknown)} {'is' if len(unknown) == 1 else 'are'} unknown")
    if not failed and not unknown:
        parts.append(f"{_stages(by_verdict[PASS])} passed" if by_verdict[PASS] else "nothing passed")
    if apart:
        parts.append(f"{_stages(apart)} {'does' if len(apart) == 1 else 'do'} not apply here")
    measured, checked = acceptance.node_counts
    if 0 < measured < checked:
        parts.append(f"only {measured} of {count(checked, 'node')} {'was' if measured == 1 else 'were'} measured")
    if not acceptance.is_complete:
        parts.append("it was interrupted")
    word = {PASS: "accepted", FAIL: "not accepted", UNKNOWN: "undecided"}[acceptance.verdict]
    return f"{word}: {', '.join(parts)}"


def _stages(names: Sequence[str]) -> str:
    """Return the names of stages as such: one is `all`, and "all failed" would say something else."""
    return f"stage{'' if len(names) == 1 else 's'} {names_text(names)}"


def rows(stages: Iterable[StageOutcome]) -> list[list[str]]:
    """Return the rows of the table, below HEADERS."""
    return [
        [
            stage.name,
            stage.verdict,
            threshold_text(stage.threshold) if stage.threshold else "",
            elapsed(stage),
            stage.reason,
        ]
        for stage in stages
    ]


def elapsed(stage: StageOutcome) -> str:
    return "" if stage.elapsed_s is None else duration(stage.elapsed_s)


def ended_line(stage: StageOutcome) -> str:
    """Return what became of a stage, in one line."""
    return f"{stage.name}: {stage.verdict} after {elapsed(stage)}: {stage.reason}"


def change_rows(changes: Sequence[Change]) -> list[list[str]]:
    """Return the rows of the table, below CHANGE_HEADERS."""
    return [
        [
            change.stage,
            change.subject,
            change.before or "none",
            change.now or "none",
            "" if change.percent is None else f"{change.percent:+.1f} %",
        ]
        for change in changes
    ]


def since(acceptance: Acceptance) -> str:
    """Return what the table of changes is about."""
    if acceptance.against is None:
        return "there is no earlier acceptance of this cluster here"
    return f"{'compared with' if acceptance.changes else 'nothing is different from'} {acceptance.against}"


def remedy(stage: StageOutcome) -> str:
    """Return what to do about a stage that did not pass."""
    if stage.measured is None:
        return f"see {stage.name}.log beside this page"
    if stage.verdict == UNKNOWN and stage.name in SCOPES:
        if stage.threshold is None:
            return NO_THRESHOLD
        if stage.threshold.of_limit is not None and stage.measured["of_limit"] is None:
            return NO_LIMIT
    return REMEDIES[stage.name]
