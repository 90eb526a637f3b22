# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors that the user can fix, how they show a value, and the message of a task that failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class UserError(ValueError):
    """Something that the user can fix; the text is the whole message, one line for each mistake."""


def task_message(result: Mapping[str, Any], default: str) -> str:
    """Return the message of a task's result without the words that Ansible puts before it."""
    return str(result.get("msg") or default).removeprefix("Task failed: ")


def display(value: object) -> str:
    """Return a value as one printable line, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
