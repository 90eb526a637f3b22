# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain data out of Ansible's tagged and lazy types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def plain(value: Any) -> Any:
    """Copy a value as plain data, which is not a template any more."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


class PlainMapping(Mapping[str, Any]):
    """A mapping each value of which is copied as plain data when it is read: all of a large one takes longer."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return plain(self._values[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
