# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of experiments: as a table, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from .._request.conditions import text_of
from .._request.run_id import RUN_ID_FORMAT, label_in, settings_in
from .._text.table import GAP, one_line, table
from .rows import duration
from .summary import NAMES, ExperimentSummary, parameter_values

UNSEEN = "?"  # after a verdict that may have changed since
# A longer value is cut: `-e output=csv` has all of it.
WIDEST = 32
LONGEST = 1000  # of what is the same in all runs
NOTE_LEAST = 16  # signs of a note, which has the room that is left
ELAPSED, CREATED = "elapsed", "created (UTC)"
# The columns after the ones in which runs differ.
RESULTS = ("verdict", "loss", ELAPSED, CREATED)
# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def list_lines(entries: Sequence[ExperimentSummary], width: int) -> list[str]:
    """Return the list, a line for each run, in which they differ first; above it what is the same in all of them.

    Where the width does not do, what the run IDs tell as well is left out, and then the last of the differences.
    """
    readable = [entry for entry in entries if not entry.problem]
    unreadable = [f"{entry.run_id}  {entry.problem}" for entry in entries if entry.problem]
    return (_table(readable, width) if readable else []) + unreadable


def _table(entries: Sequence[ExperimentSummary], width: int) -> list[str]:
    texts = {name: [text_of(entry.values.get(name)) for entry in entries] for name in _names(entries)}
    differing = {name: column for name, column in texts.items() if len(set(column)) > 1}
    same = [f"{name}={column[0]}" for name, column in texts.items() if name not in differing and column[0]]
    columns = {"run id": [entry.run_id for entry in entries]}
    columns |= {name: [one_line(text, WIDEST) for text in distinct(column)] for name, column in differing.items()}
    columns |= dict(zip(RESULTS, map(list, zip(*map(_results, entries), strict=True)), strict=True))
    notes, left_out = [entry.notes[-1].text if entry.notes else "" for entry in entries], []
    for_notes = len(GAP) + NOTE_LEAST if any(notes) else 0
    for name in _expendable(entries, list(differing)):
        if _width(columns) + for_notes <= width:
            break
        del columns[name]
        left_out += [name] if name in differing and not _is_in_run_ids(name, entries) else []
    lines = [one_line(f"{_all(len(entries))}: {' '.join(same)}", LONGEST), ""] if same else []
    columns["note"] = [one_line(text, max(NOTE_LEAST, width - _width(columns) - len(GAP))) for text in notes]
    lines += table(list(columns), zip(*columns.values(), strict=True), max(width, _width(columns)))
    if left_out:
        lines.append(f"they also differ in {', '.join(reversed(left_out))}: -e output=csv shows all of it")
    return lines


def _all(count: int) -> str:
    return "the run" if count == 1 else f"all {count} runs"


def _names(entries: Iterable[ExperimentSummary]) -> list[str]:
    """Return what runs are compared by: what was chosen for any of them, where, with what code and over what it ran."""
    chosen = {
        name: None
        for entry in entries
        for parameter, value in entry.parameters.items()
        for name in parameter_values(parameter, value)
    }
    return [*chosen, "label", "cluster", "commit", "transport"]


def distinct(texts: Sequence[str]) -> list[str]:
    """Return the texts without the words that all of them begin with."""
    words = [text.split(" ") for text in texts]
    common = 0
    while all(len(line) > common + 1 and line[common] == words[0][common] for line in words):
        common += 1
    return [" ".join(["…"] * bool(common) + line[common:]) for line in words]


def _results(entry: ExperimentSummary) -> tuple[str, ...]:
    loss = "" if entry.loss is None else f"{entry.loss:.3g}"
    verdict = entry.verdict if entry.ended else f"{entry.verdict}{UNSEEN}"
    return verdict, loss, duration(entry.elapsed_s), minute(entry.created)


def _expendable(entries: Sequence[ExperimentSummary], differing: Sequence[str]) -> list[str]:
    """Return the columns that are left out first to last: those that the run IDs tell, then differences."""
    in_run_ids = [name for name in (CREATED, *differing) if _is_in_run_ids(name, entries)]
    return [*in_run_ids, *(name for name in reversed(differing) if name not in in_run_ids)]


def _is_in_run_ids(name: str, entries: Sequence[ExperimentSummary]) -> bool:
    """Return whether every run ID tells this value."""
    if name == CREATED:
        return bool(entries) and all(RUN_ID_FORMAT.fullmatch(entry.run_id) for entry in entries if entry.created)
    if name == "label":
        return all(entry.label in ("", label_in(entry.run_id)) for entry in entries)
    return all(
        f"{name}={'auto' if entry.values.get(name) is None else entry.values[name]}" in settings_in(entry.run_id)
        for entry in entries
    )


def _width(columns: dict[str, list[str]]) -> int:
    used = [max(map(len, [name, *cells])) + len(GAP) for name, cells in columns.items() if any(cells)]
    return sum(used) - len(GAP)


def minute(stamp: str) -> str:
    """Return ``2026-11-20 14:30`` for 2026-11-20T14:30:52Z."""
    return stamp.replace("T", " ")[:16]


def to_csv(entries: Sequence[ExperimentSummary]) -> str:
    """Return a line for each run and a column for each name, those of `NAMES` first."""
    names = dict.fromkeys([*NAMES, *(name for entry in entries for name in entry.values), "problem"])
    rows = [{**entry.values, "problem": entry.problem} for entry in entries]
    return csv_text(list(names), [[row.get(name) for name in names] for row in rows])


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table for a spreadsheet."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([*map(_cell, row)] for row in (header, *rows))
    return file.getvalue()


def _cell(value: object) -> str:
    """Return a value for a spreadsheet, in which no text of a run becomes a formula."""
    text = text_of(value)
    is_number = isinstance(value, (int, float))
    return f"'{text}" if text.startswith(FORMULA) and not is_number else text
