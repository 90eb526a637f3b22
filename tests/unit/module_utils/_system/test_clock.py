# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock beside the controller's."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._records.health import Clock
from ansible_collections.muster.train.plugins.module_utils._system.clock import TIMESYNC, read_clock
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine


def test_kept(tmp_path: Path) -> None:
    host = OwnMachine({}, tmp_path)
    assert read_clock(host, 1800000000.0) == Clock(1800000000.5, 1800000000.0, True, "adjtimex")
    host.system.synchronized = False
    assert read_clock(host, None) == Clock(1800000000.5, None, False, "adjtimex")


def test_a_kernel_that_does_not_say(tmp_path: Path) -> None:
    answer, untold = OwnMachine({"files": {TIMESYNC: ""}}, tmp_path / "a"), OwnMachine({}, tmp_path / "b")
    answer.system.synchronized = untold.system.synchronized = None
    assert read_clock(answer, None) == Clock(1800000000.5, None, True, TIMESYNC)
    assert read_clock(untold, None) == Clock(1800000000.5, None, None, None)


def test_a_tree_has_none(tmp_path: Path) -> None:
    assert read_clock(Machine({"files": {TIMESYNC: ""}}, tmp_path), 1.0) is None
