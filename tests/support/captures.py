# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs of real machines, which are not part of the project, with what a reader must find in each beside them.

They lie in ../shared/captures of the checkout, or where MUSTER_CAPTURES says: <kind>/NN_name.txt (its first line says
where it is from) and <kind>/NN_name.expected.yaml. Without them the tests that need them are skipped.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(os.environ.get("MUSTER_CAPTURES") or Path(__file__).resolve().parents[3] / "shared" / "captures")


def captures(kind: str, but: str | None = None, only: str = "") -> list[Any]:
    """Return the captures of a kind as parameters of a test, each a Path; one that skips when there are none.

    only and but are words of the `kind` that the expected values name.
    """
    found = []
    for path in sorted((FOLDER / kind).glob("*.txt")):
        said = expected(path).get("kind", "")
        if only in said and (but is None or but not in said):
            found.append(path)
    if not found:
        reason = f"no captures: {FOLDER / kind} is not there (see MUSTER_CAPTURES)"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="none")]
    return [pytest.param(path, id=path.stem) for path in found]


def texts(kind: str) -> list[str]:
    """Return the texts of a kind, for tests that only want something realistic; empty when there are none."""
    return [text(path) for path in sorted((FOLDER / kind).glob("*.txt"))]


def expected(path: Path) -> dict[str, Any]:
    """Return what a reader must find in the capture."""
    data = yaml.safe_load(path.with_suffix(".expected.yaml").read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def text(path: Path) -> str:
    """Return the capture without its first line."""
    return path.read_text(encoding="utf-8").partition("\n")[2]
