# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain data out of Ansible's tagged and lazy types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plain(value: Any) -> Any:
    """Copy a value as plain data, which is not a template any more."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value
