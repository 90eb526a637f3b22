# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of what others wrote."""

from __future__ import annotations

import dataclasses
from typing import Any


def known(record: Any, data: dict[str, Any]) -> dict[str, Any]:
    """Return the items of data that the dataclass record has a field for."""
    return {field.name: data[field.name] for field in dataclasses.fields(record) if field.name in data}
