# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of a sweep as a person reads it."""

from __future__ import annotations

import re
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
NEW = replace(SWEEP, points=[replace(point, outcome="pending") for point in POINTS])
DONE = replace(SWEEP, points=[replace(point, outcome="succeeded") for point in POINTS])
WHY = "loss 4 after 30 % of its steps, where the median of 5 runs that succeeded is 2.5"
TRIED = [replace(POINTS[1], outcome="pruned", why=WHY, trial=2), replace(POINTS[0], trial=1), *POINTS[2:]]
SEARCHED = replace(SWEEP, points=TRIED, search="tpe", trials=3)
BEST = Best({"channels": 28, "env.P": "LL"}, 2.5, 2.5, 2.5, 1)


PROGRESS = {"step": 1234567, "total_steps": 2000000, "loss": 3.14159, "tokens_per_s": 4100.0}
LATE = Position(3, 4, [60.0, 120.0], 30.0)
SPREAD = replace(BEST, count=3, least=2.4, greatest=2.6)
LINES = {
    "table": text.table_lines(SWEEP, 120),
    "table of a search": text.table_lines(SEARCHED, 120),
    "summary": [text.summary(SWEEP), text.summary(replace(SWEEP, points=POINTS[:1])), text.summary(SEARCHED)],
    "a point that runs": [
        text.progress_text(POINTS[3], LATE, {"phase": "running", "progress": PROGRESS}, "best loss 2.5"),
        text.progress_text(POINTS[3], Position(1, 4), {}, ""),
    ],
    "points that have ended": [
        text.ended_line(POINTS[0], Position(1, 4), "loss"),
        text.ended_line(POINTS[1], Position(2, 4), "loss"),
        text.ended_line(replace(POINTS[0], repeat=2, key="e"), Position(1, 1), "-loss"),
        text.ended_line(TRIED[0], Position(3, 3), "loss"),
        text.ended_line(POINTS[0], Position(1, 4), "loss", was_to_stop=True),
    ],
    "best": [
        text.best_line(BEST, "loss"),
        text.best_line(replace(BEST, value=24475.116, ties=2), "-tokens_per_s"),
        text.best_line(SPREAD, "-loss"),
    ],
    "beginning": [text.beginning(sweep, "experiments/s") for sweep in (NEW, SWEEP, DONE, SEARCHED)],
}


def test_every_line_has_its_values() -> None:
    assert [line.split()[0] for line in LINES["table"]] == ["point", "1", "2", "3", "4"]
    numbers = {"a point that runs": [70, 70], "points that have ended": [28, 42, 28, 42, 28], "best": [28, 28, 28]}
    for name, channels in numbers.items():
        assert [re.findall("channels=(\\d+)", line) for line in LINES[name]] == [[str(number)] for number in channels]


def test_a_sample_may_be_anything() -> None:
    for sample in ({"phase": 7, "progress": []}, {"phase": "\x1b[2J", "progress": {"step": "x", "loss": None}}):
        assert text.progress_text(POINTS[3], Position(1, 4), sample, "").isprintable()


def test_the_rest_is_estimated_from_the_runs_that_have_ended() -> None:
    assert Position(1, 4).left_s is None
    assert Position(2, 4, [10.0], 4.0).left_s == 26.0
    assert Position(4, 4, [10.0], 40.0).left_s == 0.0
