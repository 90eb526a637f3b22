# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that several verbs write on the controller: a page, and a document of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._action.files import PAGE_EXPECTED
from .._page.page import finished, same_content
from .step import Play, WantedFile


def page_file(play: Play, path: Path, page: str, note: str) -> WantedFile:
    """Return a page, which says when and by which command it was made; that alone does not count as a change."""
    text = finished(page, play.request["created"], clean(play.request["command"]))
    return WantedFile(
        path,
        text,
        "page",
        PAGE_EXPECTED,
        is_same=lambda before: same_content(before, text),
        is_refreshed=True,
        note=f"\n{note}",
    )


def json_file(
    path: Path,
    document: Mapping[str, Any],
    option: str,
    expected: str,
    is_same: Callable[[str], bool] | None = None,
) -> WantedFile:
    """Return a document as JSON; the other arguments are those of `WantedFile`."""
    text = json.dumps(document, indent=2) + "\n"
    return WantedFile(path, text, option, expected, is_same=is_same, is_refreshed=True, has_diff=False)
