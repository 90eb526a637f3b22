# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of what others wrote."""

from __future__ import annotations

import dataclasses
import json
from typing import Any


def known(record: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Return the items of data that the dataclass record has a field for."""
    return {field.name: data[field.name] for field in dataclasses.fields(record) if field.name in data}


def parse_json(text: str | bytes | None) -> Any:
    """Return the JSON value of a text; None where it is none, or nested deeper than Python reads."""
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None


def as_dict(value: object) -> dict[Any, Any]:
    """Return a JSON object, an empty one for any other value."""
    return value if isinstance(value, dict) else {}
