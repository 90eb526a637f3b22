# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs of real machines, kept outside the project: shared/captures beside the checkout, or $MUSTER_CAPTURES."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = Path(os.environ.get("MUSTER_CAPTURES") or ROOT.parent / "shared" / "captures")


def captures(kind: str) -> list[Any]:
    """Return the captures of a folder as parameters of a test; one that skips where there are none."""
    found = sorted((CAPTURES / kind).glob("*.txt"))
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no captures: {CAPTURES / kind} is not there"))]
    return [pytest.param(path, id=path.stem) for path in found]


def expected(path: Path) -> dict[str, Any]:
    """Return what a correct reader finds in a capture."""
    found = yaml.safe_load(path.with_name(f"{path.stem}.expected.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def text(path: Path) -> str:
    """Return the capture itself; its first line says where it was published."""
    return path.read_text(encoding="utf-8").partition("\n")[2]
