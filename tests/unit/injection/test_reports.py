# SPDX-License-Identifier: GPL-3.0-or-later
"""The corpus from hosts: what they say is only printed, and no file of a run leaves its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._findings import finding
from ansible_collections.muster.train.plugins.plugin_utils._results import experiment, progress, unanswered
from ansible_collections.muster.train.plugins.plugin_utils._results.collected import target
from ansible_collections.muster.train.plugins.plugin_utils._results.infos import read_infos
from ansible_collections.muster.train.plugins.plugin_utils._results.listing import list_lines
from ansible_collections.muster.train.plugins.plugin_utils._results.report import (
    explanation,
    log_lines,
    not_started,
    status_table,
)
from ansible_collections.muster.train.plugins.plugin_utils._results.report import summary as report_summary
from ansible_collections.muster.train.plugins.plugin_utils._results.summary import summarize
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge
from ansible_collections.muster.train.tests.support.plan_parts import RUN_ID

pytestmark = pytest.mark.slow


# What hosts say


def hostile_run(text: str) -> dict[str, Any]:
    """Return a run as a host could report it, with the text wherever a text can be."""
    failure = {"rank": 0, "exit_code": 1, "signal": text, "message": text, "traceback": [text], "time": 1, "node": text}
    return {
        "run_id": RUN_ID,
        "run_dir": text,
        "node": text,
        "node_rank": 0,
        "phase": "failed",
        "why": text,
        "alive": False,
        "left": 0,
        "nproc": 1,
        "first_rank": 0,
        "world_size": 1,
        "label": text,
        "created": text,
        "started": "2026-11-20T14:30:52Z",
        "ended": "2026-11-20T14:30:53Z",
        "first": failure,
        "failures": [failure],
        "log_tail": [text],
        "starter": text,
        "progress": {"step": 1, "total_steps": text, "loss": text},
        "elapsed_s": 1.0,
        "heartbeat_age_s": 1.0,
        "log_dropped": 0,
    }


def test_what_a_host_says_is_only_printed(texts: dict[str, str]) -> None:
    for text in filter(None, texts.values()):
        told_of = hostile_run(text)
        record = RunRecord.from_dict(told_of)
        log = [{"time": text, "node": text, "rank": 0, "text": text}]
        infos = read_infos([("node0", {"run": told_of, "log": log}), ("node1", {"unreachable": True, "msg": text})])
        verdict = judge([record])
        request_ = {"call": text, "experiments": "/x", "run_id": RUN_ID}
        run_yml = experiment.record(RUN_ID, None, request_, [record], verdict)
        lines = [
            *status_table([info.run for info in infos], 160),
            report_summary(RUN_ID, verdict, [record]),
            *explanation(verdict),
            *log_lines(infos, 50),
            *unanswered.lines(infos),
            *not_started(infos, text)[1],
            *map(clean, list_lines([summarize(RUN_ID, yaml.safe_dump(run_yml))], 160)),
        ]
        assert [line for line in lines if not line.isprintable()] == []
        state = {"phase": "waiting", "why": text, "gang": None, "started": text}
        sample = progress.read_sample(json.dumps(state), "")
        assert sample is not None
        assert progress.status_text(sample).isprintable()
        result = finding.Finding(text, text, "fail", text, text, text, text)
        assert finding.line(result).isprintable()


def test_a_file_of_a_run_keeps_to_its_place(texts: dict[str, str], tmp_path: Path) -> None:
    """What a node names as its file never leads out of the experiment."""
    for text in texts.values():
        for path in (text, f"logs/{text}", f"outputs/{text}", f"logs/rank_0{text}.log"):
            below = target(path, 0, range(2))
            assert below is None or (tmp_path / below).resolve().is_relative_to(tmp_path), below
