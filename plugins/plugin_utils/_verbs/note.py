# SPDX-License-Identifier: GPL-3.0-or-later
"""`note`: what a user has to say about a run, dated, in the record of its experiment. No node is contacted."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import relative
from .._results import experiment
from .._results.listing import minute
from .._results.notes import Note, notes_of, with_note
from .experiments import RECORD, newest, read_record
from .record import OPTION
from .step import Conclude, Conclusion, Play, WantedFile


@Conclude
def add(play: Play) -> Conclusion:
    """Add the note to the record of the run, without a run ID to that of the newest one."""
    request = play.request
    run_id = request.get("run_id") or newest(play, 1)[0]
    home = Path(request["experiments"], run_id)
    note = Note(request["created"], request["controller"]["user"], play.parameters["note"])
    record = with_note(read_record(play, run_id), note)
    notes = [known.to_dict() for known in notes_of(record)]
    where = f"{minute(note.at)} {note.by}: {note.text}  ({relative(home / RECORD)})"
    return Conclusion(
        files=[WantedFile(home / RECORD, experiment.dump(record), OPTION, is_private=True)],
        closing_lines=[clean(f"{'would note' if play.is_checked else 'noted'} on {run_id}: {where}")],
        document={"run_id": run_id, "experiment": str(home), "notes": notes},
        result={"run_id": run_id, "notes": notes},
    )
