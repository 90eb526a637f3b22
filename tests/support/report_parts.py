# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs for tests of their reports: the metrics of some ranks, and an experiment as it was collected."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._report.metrics import RankMetrics, read_rank
from ansible_collections.muster.train.plugins.plugin_utils._report.run_text import ReportedRun
from ansible_collections.muster.train.plugins.plugin_utils._report.series import reduce
from ansible_collections.muster.train.plugins.plugin_utils._results import experiment
from ansible_collections.muster.train.tests.support.experiments import DONE, PLAN, RUN_ID, record, run
from ansible_collections.muster.train.tests.support.telemetry_parts import (
    file_lines,
    gpu,
    gpu_events,
    sample,
    telemetry,
    trace,
    trace_text,
)

STEPS = 40
SLOW = 2
HANG = {
    "at": "2026-11-20T14:31:00Z",
    "folder": "20261120T143100Z",
    "waiting": [0, 1, 3],
    "absent": [2],
    "collective": {"group": "default_pg", "op": "all_reduce", "seq": 1841, "last": 1841, "is_pending": True},
}
FAILED_RANK = {
    "rank": 3,
    "exit_code": 1,
    "exception": "ValueError",
    "message": "ValueError: <b>no loss</b> {{ 7 * 7 }}",
    "log_tail": ["step 39", "ValueError: <b>no loss</b> {{ 7 * 7 }}"],
}
VARIABLE = {"name": "NCCL_IB_DISABLE", "value": "1", "origin": "fabric", "rule": "D1", "reason": "no RDMA devices"}
FINDING = {
    "check": "clock",
    "node": "node1",
    "status": "warn",
    "observed": "2 s behind",
    "expected": "at most 1 s",
    "source": "preflight_clock",
    "remedy": "set the clock",
}


def line(rank: int, step: int, **changes: Any) -> dict[str, Any]:
    """Return a line of metrics: the ranks take 100 ms a step, and the slow one 160 ms."""
    known = {"rank": rank, "step": step, "total_steps": STEPS, "loss": 5.0 - step / 10, "tokens_per_s": 1000.0 + step}
    return {**known, "step_ms": 160.0 if rank == SLOW else 100.0, **changes}


def text_of(lines: Iterable[dict[str, Any]]) -> str:
    """Return the text of a file of metrics; Python writes NaN as trainers do."""
    return "".join(f"{json.dumps(known)}\n" for known in lines)


def rank_of(rank: int, *lines: dict[str, Any]) -> RankMetrics:
    """Return the metrics of a rank with these lines, or with those of a whole training."""
    known = lines or [line(rank, step) for step in range(1, STEPS + 1)]
    return read_rank(rank, text_of(known).encode().splitlines(keepends=True))


def long_rank(rank: int, steps: int) -> RankMetrics:
    """Return the metrics of a long training, made without a file."""
    numbers = [float(step) for step in range(1, steps + 1)]
    times = array("d", [0.1 + 0.001 * ((rank * 7 + step * 13) % 11) for step in range(steps)])
    losses = array("d", [5 * number**-0.1 + 0.01 * ((rank + int(number)) % 5) for number in numbers])
    rates = array("d", [1000 / time for time in times])
    return RankMetrics(rank, array("d", numbers), losses, times, rates, "tokens_per_s", [])


def reported_run(**changes: Any) -> ReportedRun:
    """Return a run of four ranks, one of which is slow, and another has failed."""
    failed = run("node1", "failed", why="rank 3 exited", failures=[FAILED_RANK], hang=HANG)
    runs = [DONE[0], failed]
    times = {"first_step": "2026-11-20T14:31:02Z", "last_step": "2026-11-20T14:31:40Z"}
    known = {
        **times,
        "ended_attempts": [{"attempt": 1, "ended": "2026-11-20T14:31:00Z", "verdict": "failed", "why": "killed"}],
    }
    jobs = {node: {"environment": [VARIABLE, {"name": "MUSTER_NODE", "value": node}]} for node in PLAN["nodes"]}
    metrics = reduce([rank_of(rank) for rank in range(4)], 4, {2: "node1"}, 4)
    parts: dict[str, Any] = {
        "run_id": RUN_ID,
        "record": {**record(runs), **known},
        "plan": {**PLAN, "jobs": jobs, "findings": [FINDING]},
        "runs": [RunRecord.from_dict(known_run) for known_run in runs],
        "metrics": metrics,
        "telemetry": telemetry(),
        "traces": [trace(trace_text(gpu_events(), rank), f"rank_{rank:02d}_trace.json") for rank in range(4)],
    }
    return ReportedRun(**{**parts, **changes})


def write_experiment(folder: Path, run_id: str = RUN_ID, **changes: Any) -> Path:
    """Write the experiment of a run of four ranks as `collect` leaves it; return its directory."""
    home = folder / run_id
    (home / "outputs").mkdir(parents=True)
    plan = {**PLAN, "run_id": run_id, "nproc": 2}
    (home / "run.yml").write_text(experiment.dump({**record(DONE, plan), "run_id": run_id, **changes}))
    (home / "plan.json").write_text(json.dumps(plan))
    samples = file_lines(sample(number, map(gpu, range(4))) for number in range(9))
    for number, known in enumerate(DONE):
        (home / "nodes" / str(number)).mkdir(parents=True)
        (home / "nodes" / str(number) / "telemetry.jsonl").write_bytes(b"".join(samples))
        (home / "nodes" / str(number) / "state.json").write_text(json.dumps(known))
    for rank in range(4):
        text = text_of(line(rank, step) for step in range(1, STEPS + 1))
        (home / "outputs" / f"rank_{rank:02d}_metrics.jsonl").write_text(text)
        (home / "outputs" / f"rank_{rank:02d}_trace.json").write_text(trace_text(gpu_events(), rank))
    return home
