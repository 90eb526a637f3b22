# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions on runs, and their order: `channels=42,loss<3` and `-created`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "~")
CONDITION = re.compile(rf"\s*({NAME})\s*(!=|<=|>=|=|<|>|~)([^,]*)")
CONDITIONS = re.compile(rf"{CONDITION.pattern}(,{CONDITION.pattern})*")
ORDER = re.compile(rf"(-?)({NAME})")
NUMBER = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)([smhd]?)")
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


@frozen
class Condition:
    """What a run's value of this name must be; `~` means that it contains the text, in capitals or not."""

    name: str
    operator: str
    text: str

    def holds(self, values: Mapping[str, object]) -> bool:
        """Return whether a run with these values meets it; a missing value is an empty text, and has no order."""
        value = values.get(self.name)
        text = text_of(value)
        if self.operator == "~":
            return self.text.casefold() in text.casefold()
        wanted, number = _number(self.text), _number(text)
        compared = None if number is None or wanted is None else (number > wanted) - (number < wanted)
        if self.operator in ("=", "!="):
            return (text == self.text or compared == 0) == (self.operator == "=")
        if compared is None:
            if value is None or wanted is not None or number is not None:
                return False  # a number has no order among texts
            compared = (text > self.text) - (text < self.text)
        return {"<": compared < 0, "<=": compared <= 0, ">": compared > 0, ">=": compared >= 0}[self.operator]


@frozen
class Order:
    """By which value runs are sorted."""

    name: str
    descending: bool


def parse_conditions(text: str) -> list[Condition]:
    """Read a text that `CONDITIONS` matches; commas separate conditions."""
    return [Condition(match[1], match[2], match[3].strip()) for match in CONDITION.finditer(text)]


def parse_order(text: str) -> Order:
    """Read a text that `ORDER` matches; a minus means descending."""
    return Order(text.removeprefix("-"), text.startswith("-"))


def sort_key(value: object) -> tuple[int, float, str]:
    """Return the place of a value: numbers by size, then texts."""
    text = text_of(value)
    number = _number(text)
    return (1, 0.0, text) if number is None else (0, number, "")


def text_of(value: object) -> str:
    """Return a value as it is typed in a condition."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _number(text: str) -> float | None:
    """Return a number, a duration in seconds; 2026-11-20 is a text."""
    match = NUMBER.fullmatch(text)
    return float(match[1]) * SECONDS[match[2]] if match else None
