# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress from several sources: which one counts, and what a whole output of a trainer comes to."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.lines import (
    MOST_PER_SECOND,
    PrintedMetrics,
)
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.metrics import Metrics, trainer_files
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.metrics.pattern import GROUPS, MetricsPattern
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.progress import read_stamps
from ansible_collections.muster.train.plugins.plugin_utils._request import metrics_pattern
from ansible_collections.muster.train.tests.support.jobs import make_job

LOSS = "{'loss': '%s', 'grad_norm': '1.1', 'learning_rate': '4e-05', 'epoch': '0.1'}"


def progress_bar(step: int, total: int = 6) -> str:
    return f" 33%|███▎      | {step}/{total} [00:00<00:00,  8.95it/s]"


def printed(lines: Sequence[str], **options: str) -> Progress | None:
    metrics = PrintedMetrics(4, **options)
    for number, line in enumerate(lines):
        metrics.feed(line, 100.0 + number)
    metrics.close(200.0)
    return metrics.printed


def test_hugging_faces_dictionaries_and_its_bar_make_one_progress() -> None:
    lines = [
        progress_bar(0),
        LOSS % "3.882",
        progress_bar(2),
        LOSS % "3.917",
        progress_bar(4),
        LOSS % "3.9",
        progress_bar(6),
    ]
    assert printed(lines) == Progress(step=6, total_steps=6, loss=3.9, first_loss=3.882, steps_per_s=8.95)


def test_the_bar_of_an_evaluation_is_not_that_of_the_training() -> None:
    evaluation = "{'eval_loss': '3.9', 'eval_runtime': '0.1', 'epoch': '0.1'}"
    lines = [progress_bar(2), LOSS % "3.9", progress_bar(2), progress_bar(1, 40), progress_bar(40, 40), evaluation]
    progress = printed(lines)
    assert progress is not None and (progress.step, progress.total_steps) == (2, 6)
    # A bar of something else before the training.
    progress = printed([progress_bar(40, 40), progress_bar(2), LOSS % "3.9"])
    assert progress is not None and (progress.step, progress.total_steps) == (2, 6)


def test_the_speed_of_one_rank_is_made_that_of_all() -> None:
    progress = printed(["step:  1  loss:  8.1  grad_norm:  1.2  memory:  0.5GiB(1.2%)  tps: 1,000  tflops: 0.1"])
    assert progress is not None and progress.tokens_per_s == 4000.0


def test_a_speed_that_is_not_printed_is_computed() -> None:
    lines = [f"[Rank 0] step={step}, skipped=0, lr=[0.01], mom=[0.9]" for step in (10, 20, 30)]
    assert printed(lines) == Progress(step=30, steps_per_s=10.0)


def test_keras_counts_the_batches_of_an_epoch() -> None:
    lines = ["Epoch 2/3", "64/64 - 0s - 4ms/step - loss: 0.06"]
    assert printed(lines) == Progress(step=128, total_steps=192, loss=0.06, first_loss=0.06, steps_per_s=250.0)
    without_epoch = printed(lines[1:])
    assert without_epoch is not None and (without_epoch.step, without_epoch.loss) == (None, 0.06)


def test_of_a_flood_of_lines_the_last_one_counts() -> None:
    metrics = PrintedMetrics(1)
    for step in range(10 * MOST_PER_SECOND):
        metrics.feed(f"iter {step}: loss {step}.5, time 1.00ms, mfu 1.00%", 100.0)
    metrics.close(100.0)
    progress = metrics.printed
    assert progress is not None and progress.step == 10 * MOST_PER_SECOND - 1


def test_ordinary_lines_are_no_progress() -> None:
    assert printed(["loss of connection", "Epoch 3 begins", "step 3 of the installation"]) is None


def test_a_pattern_of_the_users_own() -> None:
    pattern = MetricsPattern(
        r"update (?P<step>\d+) of (?P<total_steps>\d+), nll (?P<loss>\S+), (?P<samples_per_s>\S+) ex/s"
    )
    progress = pattern.parse("update 1000 of 5000, nll 2.5, 310.5 ex/s")
    assert progress == Progress(step=1000, total_steps=5000, loss=2.5, samples_per_s=310.5)
    assert pattern.parse("update one of two") is None
    assert MetricsPattern("(").parse("(") is None, "an older Python may not compile it"


def test_a_pattern_that_runs_away_is_not_applied_again() -> None:
    pattern = MetricsPattern(r"(?P<step>(\d+)+)x$")
    assert pattern.parse("12x") == Progress(step=12)
    assert pattern.parse("1" * 200) is None
    assert pattern.parse("12x") is None


def test_both_sides_know_the_same_groups() -> None:
    assert metrics_pattern.GROUPS == GROUPS


def test_which_source_counts(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    (outputs / "lightning_logs" / "version_0").mkdir(parents=True)
    (outputs / "lightning_logs" / "version_0" / "metrics.csv").write_text("epoch,step,loss\n0,900,9.0\n")
    job = make_job(tmp_path, [], output_dir=str(outputs), cwd=str(tmp_path), metrics_pattern=r"mine (?P<step>\d+)")
    earlier = read_stamps(str(outputs), (), trainer_files(job))
    metrics = Metrics(job, earlier)
    feed, words = metrics.watches[job.first_rank]
    assert words == ()
    assert metrics.look() is None
    feed("iter 10: loss 2.5, time 100.00ms, mfu 1.00%", time.time())
    assert metrics.look() == Progress(step=10, loss=2.5, first_loss=2.5, steps_per_s=10.0)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "metrics.csv").write_text("epoch,step,loss\n0,0,3.5\n0,19,1.5\n0,20")
    assert metrics.look(is_last=True) == Progress(step=20, loss=1.5, first_loss=3.5, steps_per_s=10.0)
    feed("mine 30", time.time())
    assert metrics.look() == Progress(step=30, loss=1.5, first_loss=3.5, steps_per_s=10.0)
    (outputs / "rank_00_metrics.jsonl").write_text(json.dumps({"step": 40}) + "\n")
    assert metrics.look() == Progress(step=40)


@pytest.mark.parametrize("name", ["torchrun", "python", "exec"])
def test_the_lines_of_the_lowest_rank_and_of_the_launcher_are_watched(tmp_path: Path, name: str) -> None:
    lines: list[str] = []
    job = make_job(tmp_path, [], launcher=name)
    metrics = Metrics(
        job, read_stamps(str(tmp_path)), (lambda line, _now: lines.append(line)) if name == "exec" else None
    )
    assert set(metrics.watches) == {None, job.first_rank}
    feed, words = metrics.watches[None]
    feed("iter 10: loss 2.5, time 100.00ms, mfu 1.00%", 100.0)
    progress = metrics.look()
    assert progress is not None and progress.step == 10
    assert (len(lines), words == ()) == ((1, True) if name == "exec" else (0, False))
