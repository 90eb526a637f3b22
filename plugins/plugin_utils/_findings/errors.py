# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors that the user can fix, and how they show a value."""

from __future__ import annotations


class UserError(ValueError):
    """Something that the user can fix; the text is the whole message, one line for each mistake."""


def display(value: object) -> str:
    """Return a value as one printable line, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
