# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The oldest Python of a node: of modules, of the runner and of the ranks. Older ones can read this file."""

from __future__ import annotations

OLDEST_PYTHON = (3, 9)
EXPECTED_PYTHON = "Python {}.{} or newer".format(*OLDEST_PYTHON)
