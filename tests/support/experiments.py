# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of an experiment whose plan and runs are given."""

from __future__ import annotations

from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results import experiment
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge

RUN_ID = "multinode_42ch_autoth_20261120_143052_base"
PLAN: dict[str, Any] = {
    "run_id": RUN_ID,
    "nonce": "a" * 32,
    "created": "2026-11-20T14:30:52Z",
    "parameters": {
        "channels": {"value": 42, "origin": "-e channels", "layer": "extra_vars"},
        "threads": {"value": None, "origin": "default", "layer": "default"},
        "script_args": {"value": ["--lr", "3e-4"], "origin": "-e script_args", "layer": "extra_vars"},
        "nproc": {"value": 2, "origin": "cluster (launch_defaults)", "layer": "cluster"},
        "label": {"value": "base", "origin": "environment LABEL", "layer": "environment"},
        "env": {"value": {"A": "1"}, "origin": "-e env", "layer": "extra_vars"},
        "follow": {"value": False, "origin": "-e follow", "layer": "extra_vars"},
    },
    "cluster": "h100",
    "options": ["-i", "inventories/h100"],
    "nodes": ["node0", "node1"],
    "world_size": 4,
    "fabric": {"value": "tcp", "reason": "no HCA"},
    "code": {"path": "/code", "commit": "0123456789abcdef", "branch": "main", "dirty": True},
    "command": "ansible-playbook launch.yml -e channels=42",
    "controller": {"host": "laptop", "user": "ada"},
    "versions": {"muster": "0.1.0"},
}


def run(node: str, phase: str, **more: Any) -> dict[str, Any]:
    progress = {"step": 4, "first_loss": 5.55, "loss": 1.93}
    record: dict[str, Any] = {"node": node, "phase": phase, "why": None, "nproc": 2, "world_size": 4, "label": "base"}
    record.update(created="2026-11-20T14:30:52Z", nonce="a" * 32, started="2026-11-20T14:30:53Z", progress=progress)
    if phase == "succeeded":
        record.update(ended="2026-11-20T14:31:24Z", exit_code=0, elapsed_s=31.0)
    return {**record, **more}


DONE = [run("node0", "succeeded"), run("node1", "succeeded")]


def record(runs: list[dict[str, Any]], plan: Any = ..., **request: Any) -> dict[str, Any]:
    plan = PLAN if plan is ... else plan
    records = [RunRecord.from_dict(run) for run in runs]
    return experiment.record(RUN_ID, plan, request, records, judge(records) if runs else None)
