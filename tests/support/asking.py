# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action `verb_request` is called with, and a value of what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Run = Callable[..., dict[str, Any]]


def value(result: dict[str, Any], name: str) -> Any:
    return result["request"]["parameters"][name]["value"]
