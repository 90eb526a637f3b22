# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `note`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._findings.errors import UserError
from ansible_collections.muster.train.plugins.plugin_utils._results import documents, experiment
from ansible_collections.muster.train.plugins.plugin_utils._verbs import note as verb
from ansible_collections.muster.train.plugins.plugin_utils._verbs.step import Conclusion, Play
from ansible_collections.muster.train.tests.support import documents as schemas
from ansible_collections.muster.train.tests.support.compared_runs import write_run
from ansible_collections.muster.train.tests.support.verbs import play_of

NOTE = {"at": "2026-11-21T03:00:00Z", "by": "ada", "text": "good"}
RUNS = {"train_20261120_110000": "2026-11-20T11:00:00Z", "train_20261120_120000": "2026-11-20T12:00:00Z"}
OLD, NEW = RUNS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for run_id, created in RUNS.items():
        write_run(tmp_path, run_id, 8, 2.0, created=created)
    return tmp_path


def play(folder: Path, run_id: str | None = None, text: str = "good") -> Play:
    controller = {"host": "laptop", "user": "ada"}
    return play_of("note", {}, {"note": text}, run_id=run_id, experiments=str(folder), controller=controller)


def add(folder: Path, run_id: str | None = None, text: str = "good") -> Conclusion:
    """Add a note, as the action that carries the step does."""
    conclusion = verb.add.conclusion(play(folder, run_id, text))
    [file] = conclusion.files
    assert file.is_private
    file.path.write_text(file.text)
    return conclusion


def test_a_note_is_added_to_the_newest_run_or_to_the_one_that_is_named(folder: Path) -> None:
    document = add(folder).document
    assert document == {"run_id": NEW, "experiment": str(folder / NEW), "notes": [NOTE]}
    assert schemas.errors(documents.document("note", None, None, document)) == []
    second = add(folder, OLD).document
    assert second is not None
    assert (second["run_id"], second["notes"]) == (OLD, [NOTE])
    third = add(folder, text="bad").document
    assert third is not None
    assert third["notes"] == [NOTE, {**NOTE, "text": "bad"}]


def test_nothing_else_of_the_record_changes(folder: Path) -> None:
    before = experiment.load((folder / NEW / "run.yml").read_text())
    add(folder)
    assert experiment.load((folder / NEW / "run.yml").read_text()) == {**before, "notes": [NOTE]}


def test_what_is_printed_is_only_printed(folder: Path) -> None:
    text = "one\u202e\x1b[2Jtwo"
    for known in (play(folder, text=text), replace(play(folder, text=text), is_checked=True)):
        [line] = verb.add.conclusion(known).closing_lines
        assert line.isprintable()


def test_a_run_that_is_not_there_is_refused_with_the_nearest(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"train_20261120_110001.*'{OLD}'"):
        verb.add.conclusion(play(folder, "train_20261120_110001"))
    for run_id in (None, OLD):
        with pytest.raises(UserError, match=r"muster\.train\.launch$"):
            verb.add.conclusion(play(tmp_path / "none", run_id))


def test_a_record_that_cannot_be_read_stays_as_it_is(folder: Path) -> None:
    (folder / OLD / "run.yml").write_text("a: [")
    with pytest.raises(UserError, match=rf"^{OLD}: unreadable run\.yml: .*muster\.train\.collect -e run_id={OLD}$"):
        verb.add.conclusion(play(folder, OLD))
