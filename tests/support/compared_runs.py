# SPDX-License-Identifier: GPL-3.0-or-later
"""The records and plans of runs that are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._action.files import write_text
from ansible_collections.muster.train.plugins.plugin_utils._results import experiment
from ansible_collections.muster.train.plugins.plugin_utils._results.compared import ComparedRun, read_run
from ansible_collections.muster.train.plugins.plugin_utils._verbs.files import json_file
from ansible_collections.muster.train.tests.support.experiments import DONE, PLAN, record


def plan_of(run_id: str, nonce: str, **environment: str) -> dict[str, Any]:
    """Return the plan of a run whose head has these variables besides those that name the run."""
    naming = {
        "MUSTER_NONCE": nonce,
        "WANDB_DIR": f"/w/{run_id}/outputs",
        "MASTER_PORT": str(20000 + len(environment)),
    }
    variables = [{"name": name, "value": value} for name, value in {**naming, **environment}.items()]
    return {**PLAN, "nonce": nonce, "head": {"node": "node0"}, "jobs": {"node0": {"environment": variables}}}


def record_of(run_id: str, channels: int, loss: float, **changes: Any) -> dict[str, Any]:
    """Return the record of a run that succeeded."""
    given = {**PLAN["parameters"], "channels": {**PLAN["parameters"]["channels"], "value": channels}}
    known = {"run_id": run_id, "parameters": given, "loss": {"first": 5.55, "last": loss}}
    return {**record(DONE), **known, "elapsed_s": 40.0, **changes}


def compared(run_id: str, channels: int, loss: float, *, plan: Any = ..., **changes: Any) -> ComparedRun:
    """Return a run as it is compared."""
    plan = plan_of(run_id, run_id.encode().hex(), A=str(channels)) if plan is ... else plan
    return read_run(run_id, record_of(run_id, channels, loss, **changes), plan)


def write_run(folder: Path, run_id: str, channels: int, loss: float, **changes: Any) -> None:
    """Write the experiment of a run."""
    text = experiment.dump(record_of(run_id, channels, loss, **changes))
    plan = json_file(Path("plan.json"), plan_of(run_id, run_id.encode().hex(), A=str(channels)), "", "").text
    for name, content in (("run.yml", text), ("plan.json", plan)):
        write_text(folder / run_id / name, content, "", "")
