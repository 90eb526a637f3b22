# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a report in the directory of an experiment or of a sweep: a page, and its numbers beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import relative
from .._page.page import finished, same_content
from .._results.documents import SCHEMA
from .._results.documents import text as json_text
from .._text.table import aligned
from .record import OPTION
from .step import WantedFile

STEM = "report"
FORMER_PAGE = "sweep.html"  # of a sweep, before a run had a page, too
TELEMETRY_TABLE = "report_telemetry.csv"
EXPECTED = "a directory that you can write to"


def places(home: Path, stem: str = STEM) -> dict[str, str]:
    """Return where the files are, for a document."""
    return {name: str(path) for name, path in _paths(home, stem).items()}


def _paths(home: Path, stem: str) -> dict[str, Path]:
    return {name: home / f"{stem}.{ending}" for name, ending in (("page", "html"), ("csv", "csv"), ("json", "json"))}


def telemetry_file(home: Path, table: str) -> WantedFile:
    """Return the file with the curves of the telemetry."""
    return WantedFile(home / TELEMETRY_TABLE, table, OPTION, EXPECTED, is_private=True, has_diff=False)


def report_files(
    request: Mapping[str, Any], home: Path, page: str, table: str, numbers: Mapping[str, Any], stem: str = STEM
) -> list[WantedFile]:
    """Return the files; table is the CSV."""
    paths = _paths(home, stem)
    document = json_text({"schema": SCHEMA, **numbers}) + "\n"
    shown = [("page", relative(paths["page"])), ("numbers", f"{relative(paths['csv'])} and {paths['json'].name}")]
    return [
        WantedFile(paths["csv"], table, OPTION, EXPECTED, is_private=True, has_diff=False),
        WantedFile(paths["json"], document, OPTION, EXPECTED, is_private=True, has_diff=False),
        report_page(request, paths["page"], page, aligned(shown), former=home / FORMER_PAGE if stem == STEM else None),
    ]


def report_page(
    request: Mapping[str, Any], path: Path, page: str, note: Iterable[str], former: Path | None = None
) -> WantedFile:
    """Return a page of an experiment. When and by which command it was made does not count as a change."""
    text = finished(page, request["created"], clean(request["command"]))
    return WantedFile(
        path,
        text,
        OPTION,
        EXPECTED,
        is_private=True,
        is_same=partial(same_content, text),
        is_refreshed=True,
        note="\n".join(note),
        former=former,
    )
