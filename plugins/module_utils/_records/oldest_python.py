# SPDX-License-Identifier: GPL-3.0-or-later
"""The oldest Python of a node: of modules, of the runner and of the ranks. Older ones can read this file."""

from __future__ import annotations

OLDEST_PYTHON = (3, 9)
EXPECTED_PYTHON = "Python {}.{} or newer".format(*OLDEST_PYTHON)
