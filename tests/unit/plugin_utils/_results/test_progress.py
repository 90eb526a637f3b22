# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress line, from samples."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import Pace, Progress
from ansible_collections.muster.train.plugins.plugin_utils._results.progress import (
    Sample,
    begins_anew,
    clock,
    eta_s,
    progress_line,
    reached,
    read_sample,
    speed_text,
    status_text,
)


def sample(elapsed: float, step: object = None, **more: object) -> Sample:
    return Sample(
        "running", 1, elapsed, None if step is None else Progress.from_dict({"step": step, "total_steps": 400, **more})
    )


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (75.9, "1:15"), (3723, "1:02:03")])
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def read(state: dict[str, object], beat: dict[str, object] | None = None) -> Sample:
    now = read_sample(json.dumps(state), json.dumps(beat) if beat else "")
    assert now is not None
    return now


WAITING: dict[str, object] = {"phase": "waiting", "why": "1 of 2 nodes have not joined yet: node1"}
BEAT: dict[str, object] = {"count": 9, "elapsed_s": 20, "progress": {"step": 8, "total_steps": 400}}
SILENT = [{"node": "n3", "seconds": 37}, {"node": "n5", "seconds": 8}]
STALLED: dict[str, object] = {"count": 1, "elapsed_s": 2.0, "stalled": SILENT}
ENDED: dict[str, object] = {"phase": "stopped", "attempt": 0, "end": {"verdict": "failed"}}
SLOW: dict[str, object] = {"slowest": "n3", "rank": 24, "step": 110, "behind": 0.5, "step_age_s": 70, "line_age_s": 80}
OF_SLOW: dict[str, object] = {"count": 3, "elapsed_s": 90.0, "pace": SLOW}
# The sample before, and that of now.
LINES = {
    "a step": (sample(12, 20), sample(22, 120, loss=2.13412, tokens_per_s=4123.4)),
    "a step that is a float": (sample(3), sample(3, 25.0)),
    "before the first step": (sample(3), sample(3)),
    "after the last step": (sample(12, 20), sample(22, 400)),
    **{phase: (sample(1), Sample(phase, 1, 3, None)) for phase in ("succeeded", "failed", "stopping")},
    "waiting": (sample(1), read(WAITING)),
    "a second attempt": (sample(10, 4), read({"phase": "running", "attempt": 1}, BEAT)),
    "the end": (sample(10, 4), read(ENDED, BEAT)),
    "storage that does not answer": (sample(1), read({"phase": "running"}, STALLED)),
    "a slow node": (sample(1), read({"phase": "running"}, OF_SLOW)),
}
PACES = [
    Pace("n3", 24, 110, 0.12, 1.0, 2.0),
    Pace("n3", 24, 110, 0.1, 1.0, 2.0),
    Pace("n3", 24, 4, 0.5, 1.0, 2.0),
    Pace("n3", 24, 110, 0.05, 14.2, 2.0),
    Pace("n3", 24, 110, 0.5, 14.2, 2.0),
    Pace("n3", 24, 110, 0.05, 300.0, 190.0),
    Pace("n3", 24, 110, 0.05, 190.0, 300.0),
    Pace("n3", 24, 110, 0.05, 300.0, 2.0),
    Pace(line_age_s=190.0),
    Pace(line_age_s=310.0),
    Pace("a\nb", None, 110, 0.5, float("nan"), float("inf")),
    Pace("n3", 24, 110, float("nan"), 1.0),
]


@pytest.mark.parametrize(
    ("speeds", "text"),
    [
        ({"tokens_per_s": 4123.4, "samples_per_s": 8.0, "steps_per_s": 2.0}, "4.1k tokens/s"),
        ({"samples_per_s": 310.4, "steps_per_s": 2.0}, "310 samples/s"),
        ({"steps_per_s": 2.6}, "2.6 it/s"),
        ({"steps_per_s": 2600.0}, "2.6k it/s"),
        ({"steps_per_s": 0.25}, "4 s/it"),
        ({"steps_per_s": 1 / 3600}, "3,600 s/it"),
        ({"steps_per_s": 1 / 999.7}, "1,000 s/it"),
        ({"steps_per_s": 999.7}, "1000 it/s"),
        ({"samples_per_s": 0.2}, "0.2 samples/s"),
        ({"tokens_per_s": 0.0}, "0 tokens/s"),
        ({"steps_per_s": 0.0}, "0 it/s"),
        ({}, ""),
    ],
)
def test_the_speed_has_the_most_telling_unit_that_is_known(speeds: dict[str, float], text: str) -> None:
    assert speed_text(Progress(**speeds)) == text


def test_how_far_a_run_got() -> None:
    assert reached(Progress(step=4, total_steps=6.0, loss=1.0, steps_per_s=8.95123)) == {
        "step": 4,
        "total_steps": 6.0,
        "steps_per_s": 8.951,
    }
    # One step in three hours is slow, and not 0.
    assert reached(Progress(step=2, steps_per_s=1 / 10800)) == {"step": 2, "steps_per_s": 9.26e-05}
    assert reached(Progress(loss=1.0)) is None
    assert reached(None) is None


def test_the_status_has_no_times() -> None:
    assert status_text(sample(1, 20, loss=2.0)) == status_text(sample(9, 20, loss=2.0))
    assert status_text(sample(1, 21, loss=2.0)) != status_text(sample(1, 20, loss=2.0))


@pytest.mark.parametrize("step", [None, "12", True, float("nan")])
def test_odd_progress_makes_no_eta_and_no_crash(step: object) -> None:
    assert eta_s(sample(1, 1), sample(2, step)) is None or not isinstance(step, int)
    assert progress_line(sample(1, 1), sample(2, step))


def test_no_eta_without_movement() -> None:
    assert eta_s(sample(1, 5), sample(2, 5)) is None


@pytest.mark.parametrize(
    ("phase", "started", "gang", "begun"),
    [
        ("waiting", None, None, False),
        ("running", "2026-11-20T14:30:52Z", None, False),
        ("running", "2026-11-20T14:30:52Z", {"nodes": 2}, True),
        ("failed", "2026-11-20T14:30:52Z", None, True),
        ("failed", None, None, False),
    ],
)
def test_a_run_has_begun_when_every_launcher_was_started(
    phase: str, started: str | None, gang: dict[str, int] | None, begun: bool
) -> None:
    assert read({"phase": phase, "started": started, "gang": gang}).begun is begun


def test_the_last_sample_keeps_the_phase_of_its_node() -> None:
    assert LINES["the end"][1].phase == "stopped"
    assert not LINES["waiting"][1].begun


def test_what_is_left_is_counted_anew_in_each_attempt() -> None:
    first, again = sample(10, 100), Sample("running", 1, 50, None, attempt=1)
    assert begins_anew(None, first)
    assert not begins_anew(first, sample(12, 101))
    assert begins_anew(first, again)
    steps = [dataclasses.replace(sample(elapsed, step), attempt=1) for elapsed, step in ((60, 100), (61, 80), (62, 81))]
    assert begins_anew(again, steps[0])
    assert begins_anew(steps[0], steps[1]), "the first heartbeat was of the attempt before"
    assert not begins_anew(steps[1], steps[2])


def test_the_pace_is_read_from_the_heartbeat_while_the_ranks_run() -> None:
    assert LINES["a slow node"][1].pace == Pace.from_dict(SLOW)
    assert read({"phase": "succeeded"}, OF_SLOW).pace is None
