# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the notes in the record of an experiment: what a user wrote there, and what a later look leaves of it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._results import experiment, listing, summary
from ansible_collections.muster.train.plugins.plugin_utils._results.notes import Note, notes_of, with_note
from ansible_collections.muster.train.tests.support.experiments import DONE, PLAN, RUN_ID, record, run

NOTE = Note("2026-11-21T09:00:00Z", "ada", "the loss jumps at step 40")


@pytest.mark.parametrize(
    ("notes", "texts"),
    [
        (None, []),
        ([], []),
        ("the good one", ["the good one"]),
        (["first", {"text": "second"}], ["first", "second"]),
        ([{"at": 7, "by": None, "text": 0.5}, None], ["0.5", "None"]),
        ({"text": "alone"}, ["alone"]),
    ],
)
def test_whatever_a_user_wrote_there_stays_and_is_a_note(notes: Any, texts: list[str]) -> None:
    document = with_note({"notes": notes, "mine": 1}, NOTE)
    assert [note.text for note in notes_of({"notes": notes})] == texts
    assert [note.text for note in notes_of(document)] == [*texts, NOTE.text]
    assert notes_of(document)[-1] == NOTE
    assert document["mine"] == 1


def test_later_looks_and_another_launch_keep_the_notes() -> None:
    going = with_note(record([run("node0", "running"), run("node1", "running")]), NOTE)
    ended = experiment.merge(going, record(DONE))
    assert (ended["verdict"], notes_of(ended)) == ("succeeded", [NOTE])
    again = experiment.record(RUN_ID, {**PLAN, "nonce": "b" * 32}, {}, [], None)
    assert notes_of(experiment.merge(ended, again)) == [NOTE]
    assert notes_of(experiment.load(experiment.dump(ended))) == [NOTE]


def test_the_list_has_the_last_note_as_far_as_there_is_room() -> None:
    first, last = Note("", "", "baseline"), Note("", "", "x" * 200)
    noted = with_note(with_note(record(DONE), first), last)
    entries = [summary.summarize(name, experiment.dump(known)) for name, known in (("a", noted), ("b", record(DONE)))]
    assert (entries[0].notes, entries[1].notes) == ((first, last), ())
    assert entries[0].to_dict()["notes"] == (first.to_dict(), last.to_dict())
    assert entries[0].values["note"] == f"{last.text}; {first.text}"
    assert "note" not in entries[1].values
    header, row = listing.list_lines(entries, 100)[2:4]
    assert header.split()[-1] == "note"
    assert row.endswith("x…")
    assert len(row) == 100
    assert summary.select(entries, [], "note~baseline", None, None) == [entries[0]]


def test_a_note_takes_no_column_from_what_differs() -> None:
    documents = [{**record(DONE), "parameters": {}}, record(DONE)]
    entries = [
        summary.summarize(name, experiment.dump(with_note(known, NOTE)))
        for name, known in zip("ab", documents, strict=True)
    ]
    columns = [listing.list_lines(entries, width)[2].split()[:3] for width in (100, 140)]
    assert columns == [["run", "id", "channels"]] * 2
