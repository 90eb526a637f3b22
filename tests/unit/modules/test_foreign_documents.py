# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of a run that no runner wrote: every module still answers, `stop` runs, and no run dies of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of, wait_for
from ansible_collections.muster.train.tests.unit.modules.test_run import SLEEP, call, stop

pytestmark = pytest.mark.slow

NESTED = "[" * 5000
DOCUMENTS = [NESTED, '{"a":' * 5000, '"\\ud800"', "1" * 5000, '{"phase": NaN, "failures": [[]], "gang": 3, "end": []}']


def ask_all(capsys: pytest.CaptureFixture[str], workdir: Path) -> list[dict[str, Any]]:
    """Ask each module that a verb uses on a node."""
    return [
        call(capsys, "run_info", workdir=str(workdir), lines=5),
        call(capsys, "run_info", workdir=str(workdir), run_id="test_run"),
        call(capsys, "run_info", workdir=str(workdir), run_id="test_run", files=True),
        call(capsys, "run_prune", workdir=str(workdir), days=0, docker=["/no/such/engine"], _ansible_check_mode=True),
    ]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("name", ["state.json", "heartbeat.json", "job.json"])
def test_a_document_that_is_none_fails_no_module(
    name: str, document: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / ".muster/nodes/node0/runs/test_run"
    run_dir.mkdir(parents=True)
    (run_dir / "job.json").write_text(json.dumps(make_job(tmp_path, SLEEP).to_dict()))
    (run_dir / name).write_text(document)
    assert not [answer for answer in ask_all(capsys, tmp_path) if answer.get("failed")]
    stopped = stop(capsys, tmp_path)
    assert "failed" not in stopped
    if name == "state.json":
        assert stopped["run"]["phase"] == "lost"


def test_a_living_run_with_a_foreign_state_is_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = make_job(tmp_path, SLEEP)
    pid = call(capsys, "run", job=job.to_dict())["run"]["pid"]
    wait_for(lambda: state_of(job).get("gang"), "the runner's last writing before its end")
    Path(job.run_dir, "state.json").write_text(NESTED)
    run = call(capsys, "run_info", workdir=str(tmp_path))["run"]
    assert (run["phase"], run["alive"], bool(run["why"])) == ("running", True, True)
    stopped = stop(capsys, tmp_path)
    assert (stopped["changed"], stopped["run"]["phase"], stopped["run"]["pid"]) == (True, "stopped", pid)


def test_a_start_that_is_a_number_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = tmp_path / ".muster/nodes/node0/runs/test_run"
    run_dir.mkdir(parents=True)
    (run_dir / "state.json").write_text('{"phase": "running", "started": 5, "ended": [], "node_rank": "x"}')
    assert not [answer for answer in ask_all(capsys, tmp_path) if answer.get("failed")]
    assert stop(capsys, tmp_path)["run"]["phase"] == "lost"


def test_runs_whose_times_have_different_types_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run_id, created in (("test_run", 5), ("second", "2026-11-20T14:30:52Z"), ("third", None)):
        run_dir = tmp_path / ".muster/nodes/node0/runs" / run_id
        run_dir.mkdir(parents=True)
        (run_dir / "state.json").write_text(json.dumps({"run_id": run_id, "phase": "running", "created": created}))
    answers = ask_all(capsys, tmp_path)
    assert not [answer for answer in answers if answer.get("failed")]
    assert {run["run_id"] for run in answers[0]["runs"]} == {"test_run", "second", "third"}
    assert stop(capsys, tmp_path)["run"]["phase"] == "lost"


METRICS = "import os; open(os.environ['MUSTER_RUN_DIR'] + '/outputs/rank_00_metrics.jsonl', 'w').write({!r}); {}"


def test_a_metrics_line_of_brackets_kills_no_run(tmp_path: Path) -> None:
    job = make_job(tmp_path, [sys.executable, "-c", METRICS.format(NESTED + "\n", "import time; time.sleep(2.5)")])
    assert spawn(job).wait(60) == 0
    assert (state_of(job)["phase"], state_of(job)["why"]) == ("succeeded", None)


@pytest.mark.parametrize("request_", ['{"grace": null}', '{"grace": NaN}', '{"grace": -1, "why": [1]}', NESTED, ""])
def test_a_stop_file_that_is_odd_stops_the_run(request_: str, tmp_path: Path) -> None:
    job = make_job(tmp_path, SLEEP)
    runner = spawn(job)
    wait_for(lambda: state_of(job).get("phase") == "running", "it runs")
    Path(job.run_dir, "stop." + job.nonce).write_text(request_)
    assert runner.wait(60) == 0
    assert (state_of(job)["phase"], state_of(job)["why"]) == ("stopped", "stop requested")
