# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a value of a parameter is refused."""

from __future__ import annotations

from .._findings.errors import display


class InvalidValue(ValueError):
    """Why a value is refused, in one line; observed and expected are its parts, None where the line has none.

    The line for a secret in `env` does not show the value, so nothing else may: only a reader says what was observed.
    """

    def __init__(self, line: str, observed: str | None = None, expected: str | None = None) -> None:
        super().__init__(line)
        self.observed, self.expected = observed, expected


def unexpected(wanted: str, raw: object) -> InvalidValue:
    """Return the error of a value that is not what was wanted."""
    observed = display(raw)
    return InvalidValue(f"expected {wanted}, saw {observed}", observed, wanted)
