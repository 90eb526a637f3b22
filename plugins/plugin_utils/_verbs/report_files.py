# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a report in the directory of an experiment or of a sweep: a page, and its numbers beside it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import relative
from .._page.page import finished, same_content
from .._results.documents import SCHEMA
from .._results.documents import text as json_text
from .._text.table import aligned
from .step import WantedFile

TELEMETRY_TABLE = "report_telemetry.csv"
PAGE, TABLE, NUMBERS = "report.html", "report.csv", "report.json"
OPTION, EXPECTED = "launch_experiments_dir", "a directory that you can write to"


def places(home: Path) -> dict[str, str]:
    """Return where the files are, for a document."""
    return {"page": str(home / PAGE), "csv": str(home / TABLE), "json": str(home / NUMBERS)}


def telemetry_file(home: Path, table: str) -> WantedFile:
    """Return the file with the curves of the telemetry."""
    return WantedFile(home / TELEMETRY_TABLE, table, OPTION, EXPECTED, is_private=True, has_diff=False)


def report_files(
    request: Mapping[str, Any], home: Path, page: str, table: str, numbers: Mapping[str, Any]
) -> list[WantedFile]:
    """Return the files; table is the CSV. When and by which command the page was made does not count as a change."""
    text = finished(page, request["created"], clean(request["command"]))
    document = json_text({"schema": SCHEMA, **numbers}) + "\n"
    shown = [("page", relative(home / PAGE)), ("numbers", f"{relative(home / TABLE)} and {NUMBERS}")]
    return [
        WantedFile(home / TABLE, table, OPTION, EXPECTED, is_private=True, has_diff=False),
        WantedFile(home / NUMBERS, document, OPTION, EXPECTED, is_private=True, has_diff=False),
        WantedFile(
            home / PAGE,
            text,
            OPTION,
            EXPECTED,
            is_private=True,
            is_same=partial(same_content, text),
            is_refreshed=True,
            note="\n".join(aligned(shown)),
        ),
    ]
