# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rank that the others wait for is named as the cause, and a run whose ranks never meet says so."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.tests.support.cluster import RUN_ID, Cluster

PROGRAM = {"launcher": "torchrun", "script": "deserter.py", "nproc": 2, "follow": True}


def test_a_rank_that_exits_early_is_the_cause(cluster: Cluster) -> None:
    played = cluster.launch(**PROGRAM, script_args=["--exits", "3"])
    assert played.rc == 2
    assert "  node1: rank 3 exited with code 0 while other ranks were waiting\n" in played.out
    cause = cluster.record()["cause"]
    assert (cause["node"], cause["rank"], cause["exit_code"]) == ("node1", 3, 0)


@pytest.mark.parametrize("launcher", ["torchrun", "python"])
def test_a_rank_that_hangs_is_the_cause(launcher: str, cluster: Cluster) -> None:
    nproc = {"launcher": launcher, "nproc": 1}
    played = cluster.launch(**{**PROGRAM, **nproc}, script_args=["--hangs", "1"])
    assert played.rc == 2
    why = "node1: rank 1 was still running when the other ranks had timed out waiting: it probably hangs"
    assert f"  {why}\n" in played.out
    cause = cluster.record()["cause"]
    assert (cause["node"], cause["rank"], cause["exit_code"]) == ("node1", 1, None)


def test_ranks_that_never_meet_are_reported(cluster: Cluster) -> None:
    played = cluster.launch(**PROGRAM, script_args=["--alone"])
    assert played.rc == 0, played.out
    assert f"{RUN_ID}  succeeded" in played.out
    assert "succeeded, but no rank joined a process group, so each worked alone" in played.out
