# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Frozen dataclasses that are quick to define. (`_record.py` is private to the collection.)

For each frozen dataclass Python compiles six methods at every import, which takes longer than to compile the file it is
in; a launch defines more than a hundred. Here all of them share methods that look at their fields.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable

__all__ = ["record"]

if TYPE_CHECKING:  # to whom checks types it is what it is like
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool) -> Callable[[type], type]:
        """Return a decorator that makes a class what ``dataclasses.dataclass(frozen=True)`` would."""
        if not frozen:
            raise TypeError("a record is frozen")
        return _make


def _make(cls: type) -> type:
    fields = dataclasses.fields(dataclasses.dataclass(init=False, repr=False, eq=False)(cls))
    names = tuple(field.name for field in fields)
    missing = dataclasses.MISSING
    defaults = {field.name: field.default for field in fields if field.default is not missing}
    factories = {field.name: field.default_factory for field in fields if field.default_factory is not missing}

    def init(self: Any, *args: Any, **given: Any) -> None:
        values = dict(zip(names, args))
        surplus = [*args[len(names) :], *(name for name in given if name in values or name not in names)]
        if surplus:
            raise TypeError(f"{cls.__qualname__}() has no field for {surplus[0]!r}, or has it already")
        values.update(given)
        # Not by assignment, which a frozen object refuses; all of them, in the order of the fields.
        own = self.__dict__
        for name in names:
            if name in values:
                own[name] = values[name]
            elif name in defaults:
                own[name] = defaults[name]
            elif name in factories:
                own[name] = factories[name]()
            else:
                raise TypeError(f"{cls.__qualname__}() needs {name}")

    cls.__init__ = init  # type: ignore[misc]
    for name, method in _SHARED.items():
        if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
            setattr(cls, name, method)
    return cls


def _repr(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self))
    return f"{type(self).__qualname__}({shown})"


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, field.name) for field in dataclasses.fields(self))


def _eq(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _setattr(_self: Any, name: str, _value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_SHARED = {
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
}
