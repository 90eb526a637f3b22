# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors that the user can fix, how they show a value, and the message of a task that failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class UserError(ValueError):
    """Something that the user can fix; the text is the whole message, one line for each mistake."""

    def records(self) -> list[dict[str, str | None]]:
        """Return the mistakes as data."""
        return [error_record(str(self))]


class ReportedError(UserError):
    """Something that the document of the verb has as data already."""

    def records(self) -> list[dict[str, str | None]]:
        return []


def error_record(
    message: str,
    node: str | None = None,
    check: str | None = None,
    observed: str | None = None,
    expected: str | None = None,
    source: str | None = None,
    remedy: str | None = None,
) -> dict[str, str | None]:
    """Return an error as every document has it: the message for people, and its parts where they are known."""
    return {
        "node": node,
        "check": check,
        "observed": observed,
        "expected": expected,
        "source": source,
        "remedy": remedy,
        "message": message,
    }


def task_message(result: Mapping[str, Any], default: str) -> str:
    """Return the message of a task's result without the words that Ansible puts before it."""
    return str(result.get("msg") or default).removeprefix("Task failed: ")


def display(value: object) -> str:
    """Return a value as one printable line, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
