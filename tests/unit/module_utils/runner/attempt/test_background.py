# SPDX-License-Identifier: GPL-3.0-or-later
"""What a successful launcher leaves in the background: it may finish, and is named where it does not."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import RunRecord
from ansible_collections.muster.train.plugins.plugin_utils._results.verdict import judge
from ansible_collections.muster.train.tests.support.jobs import make_job, spawn, state_of, wait_for

pytestmark = pytest.mark.slow

LAUNCHER = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True)"
UPLOAD = "import time; time.sleep(1); open('uploaded', 'w').close()"
DAEMON = "import time; time.sleep(600)"


def test_an_upload_in_the_background_ends_before_the_run(tmp_path: Path) -> None:
    job = make_job(tmp_path, [sys.executable, "-c", LAUNCHER, UPLOAD], background_wait=120)
    assert spawn(job).wait(110) == 0
    assert (tmp_path / "uploaded").exists()
    assert (state_of(job)["phase"], state_of(job)["why"]) == ("succeeded", None)


def test_what_stays_in_the_background_is_ended_and_named(tmp_path: Path) -> None:
    job = make_job(tmp_path, [sys.executable, "-c", LAUNCHER, DAEMON], background_wait=1)
    assert spawn(job).wait(90) == 0
    state = state_of(job)
    assert state["phase"] == "succeeded"
    assert re.fullmatch(r"ended in the background after 1 s: python\S* \(PID [0-9]+\)", state["why"]), state["why"]
    assert judge([RunRecord.from_dict(state)]).consequences == [f"node0: {state['why']}"]


def test_a_stop_does_not_wait_for_the_background(tmp_path: Path) -> None:
    job = make_job(tmp_path, [sys.executable, "-c", LAUNCHER, DAEMON], background_wait=3600)
    runner = spawn(job)
    launcher = wait_for(lambda: state_of(job).get("launcher"), "the launcher has started", 60)
    wait_for(lambda: not Path(f"/proc/{launcher['pid']}").exists(), "the launcher is gone", 60)
    runner.terminate()
    assert runner.wait(90) == 0
    state = state_of(job)
    stop = r"by a stop \(node0: the runner received SIGTERM\)"
    assert state["phase"] == "succeeded"
    assert re.fullmatch(rf"ended in the background {stop}: python\S* \(PID [0-9]+\)", state["why"]), state["why"]


def test_the_time_limit_does_not_count_for_the_background(tmp_path: Path) -> None:
    job = make_job(tmp_path, ["sh", "-c", "sleep 12 &"], background_wait=120, time_limit=10)
    assert spawn(job).wait(110) == 0
    state = state_of(job)
    assert (state["phase"], state["why"], state["end"]["verdict"]) == ("succeeded", None, "succeeded")
