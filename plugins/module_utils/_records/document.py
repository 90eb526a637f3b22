# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that are read from any JSON: a value of another type is None, and what is longer than needed is cut."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from .._text.stamps import seconds_of
from .frozen import frozen
from .known import as_dict, fields_of
from .phases import ACTIVE, ENDED, NOT_BEGUN, SILENT

# In characters, lines and entries: more than a runner writes.
MOST_TEXT, MOST_LINES, MOST_PARTS, MOST_NODES, MOST_RANKS = 4096, 100, 64, 65536, 65536

P = TypeVar("P", bound="Document")


def as_text(value: object) -> str | None:
    """Return a text that can be encoded, None for anything else."""
    return value[:MOST_TEXT].encode("utf-8", "replace").decode() if isinstance(value, str) else None


def as_integer(value: object) -> int | None:
    """Return an integer of at most 64 bits, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63 else None


def as_number(value: object) -> float | None:
    """Return a number, which may be NaN or infinite (a loss is), None for anything else."""
    return value if isinstance(value, float) else as_integer(value)


def as_step(value: object) -> float | None:
    """Return a number of steps that a trainer can have made, None for anything else."""
    number = as_number(value)
    return number if number is not None and 0 <= number < 1 << 63 else None


def as_flag(value: object) -> bool:
    return value is True


def as_stamp(value: object) -> str | None:
    """Return a UTC time as Muster writes it, None for anything else."""
    return as_text(value) if seconds_of(value) is not None else None


def as_phase(value: object) -> str:
    """Return a phase, `unknown` for anything else."""
    return value if isinstance(value, str) and value in (*ACTIVE, *ENDED, *NOT_BEGUN, *SILENT) else "unknown"


def as_count(value: object) -> int:
    """Return a number of things, 0 for anything else."""
    return max(0, as_integer(value) or 0)


def as_lines(value: object) -> list[str]:
    """Return the last texts of a list, empty for anything else."""
    texts = map(as_text, value[-MOST_LINES:]) if isinstance(value, list) else []
    return [line for line in texts if line is not None]


def as_integers(value: object) -> list[int] | None:
    """Return the integers of a list, None for anything else."""
    numbers = map(as_integer, value[:MOST_RANKS]) if isinstance(value, list) else None
    return None if numbers is None else [number for number in numbers if number is not None]


def as_phases(value: object) -> dict[str, str | None]:
    """Return the phase of each node, None of one that never came."""
    items = list(as_dict(value).items())[:MOST_NODES]
    return {str(as_text(node)): None if given is None else as_phase(given) for node, given in items}


def as_names(value: object) -> dict[str, str]:
    """Return the texts by name of an object, empty for anything else."""
    texts = {str(as_text(name)): as_text(text) for name, text in list(as_dict(value).items())[:MOST_LINES]}
    return {name: text for name, text in texts.items() if text is not None}


# The readers of fields by their annotations.
READERS: dict[str, Callable[[Any], Any]] = {
    "str | None": as_text,
    "int | None": as_integer,
    "float | None": as_number,
    "bool | None": lambda value: value if isinstance(value, bool) else None,
    "int": as_count,
    "bool": as_flag,
    "list[str]": as_lines,
    "dict[str, str]": as_names,
    "list[int] | None": as_integers,
}


@frozen
class Document:
    """A record that is read from any JSON value; OWN_READERS are those of single fields."""

    OWN_READERS: ClassVar[dict[str, Callable[[Any], Any]]] = {}

    @classmethod
    def from_dict(cls: type[P], data: object) -> P:
        values = as_dict(data)
        record: Any = cls
        fields = fields_of(record, cls.__module__)
        return cls(**{name: cls._read(name, kind, nested, values.get(name)) for name, kind, nested in fields})

    @classmethod
    def _read(cls, name: str, kind: str, nested: Any, value: object) -> Any:
        if nested is not None:
            return nested.several(value) if kind.startswith("list[") else nested.optional(value)
        return cls.OWN_READERS.get(name, READERS.get(kind, as_text))(value)

    @classmethod
    def optional(cls: type[P], data: object) -> P | None:
        """Return the record, None for any other value than a JSON object."""
        return cls.from_dict(data) if isinstance(data, dict) else None

    @classmethod
    def several(cls: type[P], data: object) -> list[P]:
        """Return a record for each JSON object in a list."""
        items = data[:MOST_PARTS] if isinstance(data, list) else []
        return [cls.from_dict(item) for item in items if isinstance(item, dict)]

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)
