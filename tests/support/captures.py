# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs of tools with what a reader must find in each beside them: <kind>/NN_name.txt and NN_name.expected.yaml.

Those in tests/captures were written for this project. More of them are read from the folder that MUSTER_CAPTURES names,
or from ../shared/captures of the checkout if that exists. The first line of a capture says where it is from.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
MORE = Path(os.environ.get("MUSTER_CAPTURES") or CHECKOUT.parent / "shared" / "captures")
FOLDERS = (CHECKOUT / "tests" / "captures", MORE)


def _paths(kind: str) -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((folder / kind).glob("*.txt"))]


def captures(kind: str, but: str | None = None, only: str = "") -> list[Any]:
    """Return the captures of a kind as parameters of a test, each a Path.

    only and but are words of the `kind` that the expected values name.
    """
    kinds = {path: expected(path).get("kind", "") for path in _paths(kind)}
    return [
        pytest.param(path, id=path.stem) for path, name in kinds.items() if only in name and not (but and but in name)
    ]


def texts(kind: str) -> list[str]:
    """Return the texts of a kind, for tests that only need realistic input."""
    return [text(path) for path in _paths(kind)]


def expected(path: Path) -> dict[str, Any]:
    """Return what a reader must find in the capture."""
    data = yaml.safe_load(path.with_suffix(".expected.yaml").read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def text(path: Path) -> str:
    """Return the capture without its first line."""
    return path.read_text(encoding="utf-8").partition("\n")[2]
