# SPDX-License-Identifier: GPL-3.0-or-later
"""A gang of real runners, of which nothing is left after the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner import process_tree
from ansible_collections.muster.train.tests.support.gang import Make, Running, make_gang
from ansible_collections.muster.train.tests.support.jobs import wait_for


@pytest.fixture
def gang(tmp_path: Path) -> Iterator[Make]:
    made: list[Running] = []

    def make(*argvs: list[str], **changes: Any) -> Running:
        made.append(Running(make_gang(tmp_path, list(argvs), **changes)))
        return made[-1]

    yield make
    for running in made:
        running.end()
    jobs = [job for running in made for job in running.jobs]
    wait_for(lambda: not any(process_tree.processes_of(job.run_id, job.run_dir) for job in jobs), "nothing is left", 60)
