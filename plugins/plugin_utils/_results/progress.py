# SPDX-License-Identifier: GPL-3.0-or-later
"""The line that shows the progress of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.hang import Hang
from ansible_collections.muster.train.plugins.module_utils._records.known import parse_json
from ansible_collections.muster.train.plugins.module_utils._records.phases import ENDED
from ansible_collections.muster.train.plugins.module_utils._records.run import (
    Heartbeat,
    Pace,
    Progress,
    RunRecord,
    StalledNode,
)
from ansible_collections.muster.train.plugins.module_utils._records.transport import TransportVerdict

from .._text.table import one_line
from .events import raised_text
from .verdict import NO_METRICS

# The part of its steps by which a node may be behind the fastest one, and the steps that are too few to compare.
BEHIND, FEW_STEPS = 0.1, 5
# Seconds after which the age of the last step is shown, and after which a run may hang in which nothing moves: before
# its first step a script loads and compiles for minutes.
OLD_STEP_S, STALLED_S, STALLED_AT_START_S = 10.0, 60.0, 300.0


@frozen
class Sample:
    """One read of the head: seconds since the launcher's start, and the workload's progress if it has any.

    begun: the launchers of all nodes were started, or the run has ended by now. why: the reason of the phase.
    verdict: the run's, once it has ended. attempt: counted from 0. stalled: which storage does not answer, and which
    rank does not end.
    pace: how the nodes move, as the head sees it. hang: what the ranks wait for, while the run hangs. transport: which
    fabric they use, as NCCL's logs have proved it.
    """

    phase: str
    count: int
    elapsed_s: float
    progress: Progress | None
    begun: bool = False
    why: str = ""
    verdict: str | None = None
    attempt: int = 0
    stalled: str = ""
    pace: Pace | None = None
    hang: Hang | None = None
    transport: TransportVerdict | None = None

    @property
    def shown(self) -> str:
        """The phase to show: once the run has ended its verdict, not only the phase of the head."""
        phase = self.verdict or ("ending" if self.phase == "drained" else self.phase)
        return f"{phase}, attempt {self.attempt + 1}" if self.attempt else phase


def read_sample(state: str, heartbeat: str) -> Sample | None:
    """Read the lines of state.json and heartbeat.json; None for a state that no runner writes.

    The heartbeat may be empty: the first one is written a second after the state.
    """
    return sample_of(RunRecord.from_dict(_document(state)), Heartbeat.from_dict(_document(heartbeat)))


def _document(text: str) -> object:
    documents = map(parse_json, text.splitlines())
    return next((document for document in documents if isinstance(document, dict)), None)


def sample_of(run: RunRecord, heartbeat: Heartbeat) -> Sample | None:
    """Return the sample of what was read of a run; None where its state could not be read."""
    elapsed = heartbeat.elapsed_s or 0.0
    if run.phase == "unknown" or not math.isfinite(elapsed):
        return None
    over = run.phase in ENDED
    return Sample(
        phase=run.phase,
        count=heartbeat.count,
        elapsed_s=elapsed,
        progress=heartbeat.progress,
        begun=bool(run.started) and (run.gang is not None or over),
        why=one_line(run.why or ""),
        verdict=run.end.verdict if over and run.end and run.end.verdict in ENDED else None,
        attempt=run.attempt or 0,
        stalled="" if over else "  ".join(filter(None, (stall_text(heartbeat.stalled), raised_text(heartbeat.raised)))),
        pace=heartbeat.pace if run.phase == "running" else None,
        hang=None if over else run.hang,
        transport=run.transport,
    )


def clock(seconds: float) -> str:
    """Return ``1:02:03`` or ``2:03``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _rate(value: float) -> str:
    if value >= 1e3:
        return f"{value / 1e6:.1f}M" if value >= 1e6 else f"{value / 1e3:.1f}k"
    return f"{value:.0f}" if value >= 10 else f"{value:.3g}"


def speed_text(progress: Progress) -> str:
    """Return the speed in the most telling unit that is known: ``4.1k tokens/s``, ``310 samples/s``, ``2.6 it/s``."""
    for value, unit in ((progress.tokens_per_s, "tokens/s"), (progress.samples_per_s, "samples/s")):
        if value is not None:
            return f"{_rate(value)} {unit}"
    rate = progress.steps_per_s
    if rate is None:
        return ""
    if 0 < rate < 1:
        return f"{1 / rate:.3g} s/it" if 1 / rate < 999 else f"{1 / rate:,.0f} s/it"
    return f"{rate:.3g} it/s" if rate < 999 else f"{_rate(rate)} it/s"


def reached(progress: Progress | None) -> dict[str, float] | None:
    """Return the last step, the number of steps and the speed, as far as they are known."""
    names = ("step", "total_steps", "tokens_per_s", "samples_per_s", "steps_per_s")
    values = {name: getattr(progress, name) for name in names if getattr(progress, name, None) is not None}
    return {name: _shortened(value) for name, value in values.items()} or None


def _shortened(value: float) -> float:
    """Return a number without digits that tell nothing; a slow speed keeps its first ones."""
    if not math.isfinite(value):
        return value
    return round(value, 3) if abs(value) >= 1 else float(f"{value:.3g}")


def eta_s(first: Sample, now: Sample) -> float | None:
    """Return the remaining seconds, from the steps since the first sample; None before there is a step."""
    if first.progress is None or now.progress is None:
        return None
    begun, step, total = first.progress.step, now.progress.step, now.progress.total_steps
    seconds = now.elapsed_s - first.elapsed_s
    if begun is None or step is None or total is None or step <= begun or seconds <= 0:
        return None
    remaining = (total - step) * seconds / (step - begun)
    return max(0.0, remaining) if math.isfinite(remaining) else None


def begins_anew(first: Sample | None, now: Sample) -> bool:
    """Return whether what is left is counted from this sample on: the first one, and those that begin an attempt."""
    if first is None or first.attempt != now.attempt:
        return True
    if first.progress is None or now.progress is None:
        return first.progress is None and now.progress is not None
    # A heartbeat of the attempt before was read together with the state of this one.
    return (now.progress.step or 0) < (first.progress.step or 0)


def stall_text(stalled: Sequence[StalledNode]) -> str:
    """Return e.g. ``storage does not answer: node1 for 37 s``, empty where all does."""
    nodes = ", ".join(f"{one_line(node.node or '?')} for {node.seconds} s" for node in stalled)
    return f"storage does not answer: {nodes}" if nodes else ""


def pace_text(pace: Pace | None) -> str:
    """Return e.g. ``slowest n3 (rank 24): step 110, 12 % behind  last step 0:14 ago``, empty where all move together.

    A run none of whose ranks makes a step or prints anything is ``stalled 3:10``.
    """
    if pace is None:
        return ""
    behind, step = pace.behind, pace.step
    slowest = ""
    if pace.slowest and behind is not None and step is not None and step >= FEW_STEPS and BEHIND < behind <= 1:
        rank = "" if pace.rank is None else f" (rank {pace.rank})"
        slowest = f"slowest {one_line(pace.slowest)}{rank}: step {step:.0f}, {behind:.0%} behind".replace("%", " %")
    return "  ".join(filter(None, [slowest, _age_text(pace)]))


def _age_text(pace: Pace) -> str:
    ages = [age for age in (pace.step_age_s, pace.line_age_s) if age is not None and math.isfinite(age)]
    if ages and min(ages) >= (STALLED_AT_START_S if pace.step_age_s is None else STALLED_S):
        return f"stalled {clock(min(ages))}"
    age = pace.step_age_s
    return f"last step {clock(age)} ago" if age is not None and math.isfinite(age) and age >= OLD_STEP_S else ""


def status_text(now: Sample) -> str:
    """Return the line without the times, e.g. ``running  step 120/400  loss 2.134  4.1k tokens/s``."""
    return "  ".join(filter(None, [_phase_text(now), now.stalled]))


def _phase_text(now: Sample) -> str:
    if now.progress is None:
        ends = {"succeeded": NO_METRICS, **dict.fromkeys(ENDED[1:], "")}
        if now.phase == "waiting" and now.why:
            return f"{now.shown}  {now.why}"
        return now.shown + ends.get(now.verdict or now.phase, "  no step yet")
    step, total = now.progress.step, now.progress.total_steps
    loss = now.progress.loss
    parts = [
        now.shown,
        "" if step is None else f"step {step:.0f}" if total is None else f"step {step:.0f}/{total:.0f}",
        "" if loss is None else f"loss {loss:.4g}",
        speed_text(now.progress),
    ]
    return "  ".join(filter(None, parts))


def progress_line(first: Sample, now: Sample) -> str:
    """Return e.g. ``running  step 120/400  loss 2.134  4.1k tokens/s  0:12 elapsed  ETA 0:28``."""
    eta = eta_s(first, now) if now.phase == "running" else None
    parts = [
        status_text(now),
        pace_text(now.pace),
        f"{clock(now.elapsed_s)} elapsed",
        f"ETA {clock(eta)}" if eta else "",
    ]
    return "  ".join(filter(None, parts))
