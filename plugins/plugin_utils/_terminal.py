# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's terminal."""

from __future__ import annotations

import shutil


def width(unknown: int = 100) -> int:
    """Return how many columns a table may have, of a terminal that does not say so the number of `unknown`."""
    return max(60, min(160, shutil.get_terminal_size((unknown, 24)).columns))
