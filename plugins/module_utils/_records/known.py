# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of what others wrote."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import sys
from typing import Any, TypeVar

from .frozen import frozen

R = TypeVar("R", bound="Record")


@frozen
class Record:
    """A record of a JSON object; another version may have written it with more keys or with fewer."""

    @classmethod
    def from_dict(cls: type[R], data: dict[str, Any], *modules: str) -> R:
        """Return the record, those nested in it by their annotations; modules: where these are, beside its own."""
        record: Any = cls
        values = {}
        for name, kind, nested in fields_of(record, cls.__module__, *modules):
            if data.get(name) is not None:
                values[name] = data[name] if nested is None else _nest(nested, kind, data[name])
            elif kind.endswith("| None"):
                values[name] = None
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@functools.cache
def fields_of(record: Any, *modules: str) -> list[tuple[str, str, Any]]:
    """Return the name, the annotation and the nested record of each field; Python 3.9 cannot evaluate `int | None`."""
    names = {name: value for module in modules for name, value in vars(sys.modules[module]).items()}
    fields = []
    for field in dataclasses.fields(record):
        kind = str(field.type)
        records = [names[word] for word in re.findall(r"\w+", kind) if dataclasses.is_dataclass(names.get(word))]
        fields.append((field.name, kind, records[0] if records else None))
    return fields


def _nest(record: Any, kind: str, value: Any) -> Any:
    if kind.startswith("list["):
        return [record.from_dict(item) for item in value]
    if kind.startswith("dict["):
        return {name: None if item is None else record.from_dict(item) for name, item in value.items()}
    return record.from_dict(value)


def parse_json(text: str | bytes | None) -> Any:
    """Return the JSON value of a text; None where it is none, or nested deeper than Python reads."""
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None


def as_dict(value: object) -> dict[Any, Any]:
    """Return a JSON object, an empty one for any other value."""
    return value if isinstance(value, dict) else {}
