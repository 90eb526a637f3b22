# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables by which a launcher knows its place in an attempt, on a spare that has taken node rank 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.job import Rendezvous
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.place import place_of
from ansible_collections.muster.train.tests.support.jobs import make_job

BY_TORCHRUN = {"NODE_RANK": "1", "PET_NODE_RANK": "1", "PET_RDZV_ENDPOINT": "10.0.0.1:29402"}


@pytest.mark.parametrize(
    ("launcher", "variables"),
    [
        ("torchrun", BY_TORCHRUN),
        ("accelerate", BY_TORCHRUN),
        ("deepspeed", {**BY_TORCHRUN, "CROSS_RANK": "1"}),
        ("python", {"NODE_RANK": "1", "GROUP_RANK": "1", "MASTER_PORT": "29402", "RANK": "2"}),
        ("exec", {"NODE_RANK": "1", "GROUP_RANK": "1", "MASTER_PORT": "29402"}),
    ],
)
def test_the_place_of_a_spare_in_the_third_attempt(launcher: str, variables: dict[str, str], tmp_path: Path) -> None:
    meeting = Rendezvous("10.0.0.1", 29400)
    job = make_job(tmp_path, ["true"], launcher=launcher, nnodes=2, nproc=2, node_rank=3, rendezvous=meeting)
    assert place_of(job.at(1), 2) == variables
