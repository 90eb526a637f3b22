# SPDX-License-Identifier: GPL-3.0-or-later
"""What users wrote about a run: the key `notes` of `run.yml`, which they may also edit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.known import Record, as_dict

KEY = "notes"


@frozen
class Note(Record):
    """One note: when (UTC) and by which user it was written, each empty where that is not known."""

    at: str
    by: str
    text: str


def notes_of(document: Mapping[str, Any]) -> list[Note]:
    """Return the notes in a `run.yml`, the newest last; what is not a note there is the text of one."""
    notes = []
    for item in _items(document):
        known = as_dict(item)
        at, by, text = known.get("at") or "", known.get("by") or "", known.get("text", item)
        notes.append(Note(str(at), str(by), str(text)))
    return notes


def with_note(document: Mapping[str, Any], note: Note) -> dict[str, Any]:
    """Return a `run.yml` with one more note; what is there stays as it is."""
    return {**document, KEY: [*_items(document), note.to_dict()]}


def _items(document: Mapping[str, Any]) -> list[Any]:
    notes = document.get(KEY)
    return notes if isinstance(notes, list) else [] if notes is None else [notes]
