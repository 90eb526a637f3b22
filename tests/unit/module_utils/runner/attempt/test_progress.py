# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress from a metrics file that is being written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.run import Progress
from ansible_collections.muster.train.plugins.module_utils.runner.attempt.progress import (
    has_saved,
    read_progress,
    read_ranks,
    read_stamps,
)


def record(step: int, loss: float) -> str:
    return json.dumps({"rank": 0, "step": step, "total_steps": 100, "loss": loss, "tokens_per_s": 10.0, "lr": 0.1})


def test_the_last_whole_record_and_the_first_loss(tmp_path: Path) -> None:
    text = "\n".join([record(1, 5.5), record(2, 4.0), record(3, 3.0)]) + "\n" + record(4, 2.0)[:20]
    (tmp_path / "rank_00_metrics.jsonl").write_text(text)
    (tmp_path / "rank_01_metrics.jsonl").write_text(record(9, 9.0) + "\n")
    assert read_progress(str(tmp_path)) == Progress(3, 100, 3.0, 10.0, 5.5)


def test_a_long_file_is_read_at_its_ends(tmp_path: Path) -> None:
    lines = [record(step, 1000.0 - step) for step in range(1000)]
    (tmp_path / "rank_00_metrics.jsonl").write_text("\n".join(lines) + "\n")
    progress = read_progress(str(tmp_path))
    assert progress is not None
    assert (progress.step, progress.first_loss) == (999, 1000.0)


def test_metrics_of_an_earlier_launch_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "rank_00_metrics.jsonl"
    path.write_text(record(96, 2.0) + "\n")
    earlier = read_stamps(str(tmp_path))
    assert read_progress(str(tmp_path), earlier) is None
    with path.open("a") as stream:
        stream.write(record(97, 2.0) + "\n")
    os.utime(path, (1000, 1000))  # the clock was set back meanwhile
    progress = read_progress(str(tmp_path), earlier)
    assert progress is not None and progress.step == 97


def test_the_lowest_rank_is_the_lowest_number(tmp_path: Path) -> None:
    for rank in range(96, 104):
        (tmp_path / f"rank_{rank}_metrics.jsonl").write_text(record(rank, 1.0) + "\n")
    progress = read_progress(str(tmp_path))
    assert progress is not None and progress.step == 96


def test_ranks_are_those_whose_metrics_this_attempt_wrote(tmp_path: Path) -> None:
    for name in ("rank_00_metrics.jsonl", "rank_10_metrics.jsonl", "rank_x_metrics.jsonl", "rank_2_notes.jsonl"):
        (tmp_path / name).write_text(record(1, 1.0) + "\n")
    assert read_ranks(str(tmp_path)) == [0, 10]
    earlier = read_stamps(str(tmp_path))
    (tmp_path / "rank_9_metrics.jsonl").write_text(record(1, 1.0) + "\n")
    assert read_ranks(str(tmp_path), earlier) == [9]


def test_no_progress_before_the_first_record(tmp_path: Path) -> None:
    assert read_progress(str(tmp_path / "none")) is None
    (tmp_path / "rank_00_metrics.jsonl").write_text("garbage\n{half")
    assert read_progress(str(tmp_path)) is None


def test_a_checkpoint_is_a_file_or_a_directory_of_files(tmp_path: Path) -> None:
    folders = [str(tmp_path / "none"), str(tmp_path / "checkpoints")]
    assert not has_saved(folders)
    old = tmp_path / "checkpoints" / "step_10"
    old.mkdir(parents=True)
    (old / "model.pt").touch()
    assert has_saved(folders)
    earlier = read_stamps(str(tmp_path), folders)
    assert not has_saved(folders, earlier)
    (old / "model.pt").write_text("again")
    os.utime(old / "model.pt", (1000, 1000))  # the clock was set back meanwhile
    assert has_saved(folders, earlier), "saved again under its old name"


def test_a_new_mode_or_a_temporary_file_is_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "step_10").mkdir()
    model = tmp_path / "step_10" / "model.pt"
    model.touch()
    earlier = read_stamps(str(tmp_path), [str(tmp_path)])
    model.chmod(0o600)
    (tmp_path / "step_10" / "model.pt.new").touch()
    (tmp_path / "step_10" / "model.pt.new").unlink()
    (tmp_path / "step_20").mkdir()
    assert not has_saved([str(tmp_path)], earlier)
    (tmp_path / "step_20" / "model.pt").touch()
    assert has_saved([str(tmp_path)], earlier)


def test_an_entry_that_vanishes_does_not_hide_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.pt", "b.pt", "c.pt"):
        (tmp_path / name).touch()
    with os.scandir(tmp_path) as entries:
        first = next(entries).path
    look = os.stat

    def look_after_removal(path: str, **options: bool) -> os.stat_result:
        if path == first:
            raise FileNotFoundError(path)
        return look(path, **options)

    monkeypatch.setattr(os, "stat", look_after_removal)
    assert has_saved([str(tmp_path)])


def test_in_a_directory_of_all_nodes_only_the_ranks_of_this_one_count(tmp_path: Path) -> None:
    for rank in (0, 1, 2, 10):
        (tmp_path / f"rank_{rank:02d}_metrics.jsonl").write_text(json.dumps({"step": rank}) + "\n")
    (tmp_path / "rank_x_metrics.jsonl").write_text('{"step": 99}\n')
    steps = [read_progress(str(tmp_path), ranks=range(first, first + 2)) for first in (0, 2, 4, 10)]
    assert [progress and progress.step for progress in steps] == [0, 2, None, 10]
