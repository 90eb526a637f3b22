# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of a sweep as a person reads it."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.muster.train.plugins.plugin_utils._sweep import text
from ansible_collections.muster.train.plugins.plugin_utils._sweep.outcome import Best
from ansible_collections.muster.train.plugins.plugin_utils._sweep.record import Point, Sweep
from ansible_collections.muster.train.plugins.plugin_utils._sweep.text import Position

POINTS = [
    Point(1, 1, {"channels": 28, "env.P": "LL"}, "a", "succeeded", "run_a", None, 12.0, 2.5),
    Point(2, 1, {"channels": 42, "env.P": "LL"}, "b", "failed", "run_b", "n1 rank 3: ValueError: no loss", 3.0),
    Point(3, 1, {"channels": 56, "env.P": "LL"}, "c", "timed_out", "run_c", "time limit of 60 s reached", 60.0),
    Point(4, 1, {"channels": 70, "env.P": "LL"}, "d"),
]
SWEEP = Sweep("sweep_1", "k", "2026-11-20T14:30:52Z", "", "loss", {"channels": [], "env.P": []}, POINTS)
BEST = Best({"channels": 28, "env.P": "LL"}, 2.5, 2.5, 2.5, 1)


def test_the_table() -> None:
    assert text.table_lines(SWEEP, 120) == [
        "point  channels  env.P  outcome    time       loss  run id  why",
        "1      28        LL     succeeded  12 s       2.5   run_a",
        "2      42        LL     failed     3 s              run_b   n1 rank 3: ValueError: no loss",
        "3      56        LL     timed out  1 min 0 s        run_c   time limit of 60 s reached",
        "4      70        LL",
    ]


def test_the_summary() -> None:
    assert text.summary(POINTS) == "1 of 4 runs succeeded, 1 failed, 1 timed out, 1 not run"
    assert text.summary(POINTS[:1]) == "1 of 1 run succeeded"


def test_the_line_of_a_point_that_runs() -> None:
    progress = {"step": 1234567, "total_steps": 2000000, "loss": 3.14159, "tokens_per_s": 4100.0}
    drawn = text.progress_text(
        POINTS[3], Position(3, 4, [60.0, 120.0], 30.0), {"phase": "running", "progress": progress}, "best loss 2.5"
    )
    assert drawn == (
        "run 3 of 4 · running  step 1234567/2000000  loss 3.142  4.1k tokens/s · about 2 min 30 s left · "
        "best loss 2.5 · channels=70 env.P=LL"
    )
    assert text.progress_text(POINTS[3], Position(1, 4), {}, "") == "run 1 of 4 · starting · channels=70 env.P=LL"


def test_a_sample_may_be_anything() -> None:
    for sample in ({"phase": 7, "progress": []}, {"phase": "\x1b[2J", "progress": {"step": "x", "loss": None}}):
        assert text.progress_text(POINTS[3], Position(1, 4), sample, "").isprintable()


def test_the_line_of_a_point_that_has_ended() -> None:
    assert text.ended_line(POINTS[0], Position(1, 4), "loss") == (
        "run 1 of 4: channels=28 env.P=LL succeeded after 12 s, loss 2.5"
    )
    assert text.ended_line(POINTS[1], Position(2, 4), "loss") == (
        "run 2 of 4: channels=42 env.P=LL failed after 3 s: n1 rank 3: ValueError: no loss"
    )
    again = replace(POINTS[0], repeat=2, key="e")
    assert text.ended_line(again, Position(1, 1), "-loss").startswith(
        "run 1 of 1: channels=28 env.P=LL (repeat 2) succeeded"
    )


def test_the_rest_is_estimated_from_the_runs_that_have_ended() -> None:
    assert Position(1, 4).left_s is None
    assert Position(2, 4, [10.0], 4.0).left_s == 26.0
    assert Position(4, 4, [10.0], 40.0).left_s == 0.0


def test_the_best() -> None:
    assert text.best_line(BEST, "loss") == "best loss: 2.5 with channels=28 env.P=LL"
    fast = replace(BEST, value=24475.116, ties=2)
    assert text.best_line(fast, "-tokens_per_s") == (
        "best tokens_per_s: 24,475 with channels=28 env.P=LL, and with 2 other combinations"
    )
    spread = replace(BEST, count=3, least=2.4, greatest=2.6)
    assert text.best_line(spread, "-loss") == "best loss: 2.5 (mean of 3, 2.4 to 2.6) with channels=28 env.P=LL"


def test_what_a_command_is_about_to_do() -> None:
    assert text.beginning(SWEEP, 4, "experiments/s") == "sweep sweep_1: 4 runs; experiments/s"
    assert text.beginning(SWEEP, 1, "e") == "sweep sweep_1: 1 run of 4, as the others have succeeded; e"
    assert text.beginning(SWEEP, 0, "e") == "sweep sweep_1: all runs have succeeded; e"
