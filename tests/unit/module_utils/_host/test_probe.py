# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes: side by side, each within its time, none able to spoil the others."""

from __future__ import annotations

import threading

from ansible_collections.muster.train.plugins.module_utils._host.probe import run_probes


def fail() -> None:
    raise OSError(5, "Input/output error")


def test_answers() -> None:
    timings: dict[str, int] = {}
    answers, warnings = run_probes({"a": lambda: 1, "b": lambda: "x", "c": lambda: None}, 60, timings)
    assert (answers, warnings, list(timings)) == ({"a": 1, "b": "x", "c": None}, [], ["a", "b", "c"])


def test_one_that_fails_and_one_that_hangs_cost_only_their_own_answer() -> None:
    released = threading.Event()
    timings: dict[str, int] = {}
    answers, warnings = run_probes({"good": lambda: 1, "bad": fail, "hung": released.wait}, 0.2, timings)
    released.set()
    assert timings["hung"] == 200  # what it was given
    assert 0 <= timings["good"] <= 200
    assert answers == {"good": 1, "bad": None, "hung": None}
    assert [warning.partition(":")[0] for warning in warnings] == ["bad", "hung"]


def test_they_run_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=60)
    assert sorted(run_probes({"a": meeting.wait, "b": meeting.wait}, 60).answers.values()) == [0, 1]


def test_a_late_answer_does_not_change_the_result() -> None:
    released, written = threading.Event(), threading.Event()

    def late() -> int:
        released.wait()
        written.set()
        return 1

    timings: dict[str, int] = {}
    probed = run_probes({"late": late}, 0.05, timings)
    released.set()
    written.wait()
    assert (probed.answers, timings) == ({"late": None}, {"late": 50})
