# SPDX-License-Identifier: GPL-3.0-or-later
"""The decorator of all records: a frozen dataclass whose class takes a third of the time to create.

A dataclass compiles six methods for each class. For the records of one module this takes longer than the import of
the rest, at each start on each node. Here a class compiles only `__init__`, and all classes share the other methods.
mypy refuses to assign to a field; at run time nothing checks it, which would cost at each field of each record.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    def field(*, default_factory: Callable[[], T]) -> T: ...

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def frozen(cls: type[T]) -> type[T]: ...

else:
    field = dataclasses.field

    def frozen(cls):
        """Make a class a dataclass that is compared, hashed, and shown by its fields."""
        cls = dataclasses.dataclass(eq=False, repr=False)(cls)
        for name, method in METHODS.items():
            if name not in vars(cls):
                setattr(cls, name, method)
        return cls


def _equals(self: Any, other: object) -> bool:
    return vars(self) == vars(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(tuple(vars(self).values()))


def _show(self: Any) -> str:
    fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
    return f"{self.__class__.__qualname__}({fields})"


METHODS = {"__eq__": _equals, "__hash__": _hash, "__repr__": _show}
