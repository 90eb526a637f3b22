# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record is what a frozen dataclass is."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._record import record


class Plain:
    """Three fields, three kinds of default, and a method."""

    name: str
    count: int = 3
    names: list[str] = dataclasses.field(default_factory=list)

    def twice(self) -> int:
        return 2 * self.count


Record: Any = record(frozen=True)(type("Record", (Plain,), {**Plain.__dict__, "__module__": __name__}))
Frozen: Any = dataclasses.dataclass(frozen=True)(type("Frozen", (Plain,), dict(Plain.__dict__)))


@pytest.mark.parametrize(
    "look",
    [
        lambda cls: dataclasses.asdict(cls("a", names=["b"])),
        lambda cls: dataclasses.astuple(cls(name="a", count=1)),
        lambda cls: [(field.name, field.type) for field in dataclasses.fields(cls)],
        lambda cls: dataclasses.asdict(dataclasses.replace(cls("a"), count=9)),
        lambda cls: repr(cls("a", 1)).partition("(")[2],
        lambda cls: (cls("a") == cls("a"), cls("a") == cls("b"), cls("a") == ("a", 3, []), cls("a") != cls("a")),
        lambda cls: hash(cls("a", 1, ())) == hash(("a", 1, ())),
        lambda cls: cls("a").names is cls("a").names,
        lambda cls: (cls("a").twice(), cls.count, cls.__doc__, cls.__match_args__),
        lambda cls: dataclasses.asdict(copy.copy(cls("a"))) == dataclasses.asdict(copy.deepcopy(cls("a"))),
        lambda cls: dataclasses.is_dataclass(cls),
    ],
)
def test_it_behaves_as_a_frozen_dataclass(look: Callable[[Any], object]) -> None:
    assert look(Record) == look(Frozen)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda cls: cls(),
        lambda cls: cls("a", 1, [], 2),
        lambda cls: cls("a", name="b"),
        lambda cls: cls("a", other=1),
        lambda cls: hash(cls("a")),
        lambda cls: setattr(cls("a"), "name", "b"),
        lambda cls: setattr(cls("a"), "other", "b"),
        lambda cls: delattr(cls("a"), "name"),
    ],
)
def test_it_refuses_what_a_frozen_dataclass_refuses(wrong: Callable[[Any], object]) -> None:
    for cls in (Record, Frozen):
        with pytest.raises((TypeError, dataclasses.FrozenInstanceError)):
            wrong(cls)


def test_it_is_frozen_or_nothing() -> None:
    with pytest.raises(TypeError, match="frozen"):
        record(frozen=False)


def test_it_travels() -> None:
    assert pickle.loads(pickle.dumps(Record("a"))) == Record("a")
