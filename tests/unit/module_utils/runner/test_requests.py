# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to stop: of a signal, the grace period that is left."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import SlurmPlace
from ansible_collections.muster.train.plugins.module_utils.runner.requests import StopRequests
from ansible_collections.muster.train.tests.support.jobs import make_job

# Seconds from SIGTERM to SIGKILL: of the run, Slurm's, and what the ranks get, who end 5 s before the runner.
GRACES = [(60, None, 60.0), (60, 0, 60.0), (60, 30, 25.0), (10, 30, 10.0), (60, 3, 1.0)]


@pytest.mark.parametrize(("stop_grace", "kill_wait", "grace"), GRACES)
def test_the_verdict_is_written_before_slurm_kills_the_runner(
    tmp_path: Path, stop_grace: int, kill_wait: int | None, grace: float
) -> None:
    place = None if kill_wait is None else SlurmPlace("12", "gpu01", kill_wait)
    requests = StopRequests(make_job(tmp_path, ["true"], stop_grace=stop_grace, slurm=place), str(tmp_path))
    assert requests.look() is None
    requests.note_signal(signal.SIGTERM, None)
    request = requests.look()
    assert request is not None
    assert requests.grace(request) == grace
    assert ("12" in str(request.why)) is (place is not None)
