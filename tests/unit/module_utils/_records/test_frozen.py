# SPDX-License-Identifier: GPL-3.0-or-later
"""A record behaves as a frozen dataclass does."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen


@frozen
class Port:
    device: str
    number: int = 1
    lanes: list[int] = field(default_factory=list)


@frozen
class Address:
    text: str


@frozen
class NamedPort(Port):
    name: str = ""

    def __repr__(self) -> str:
        return f"<{self.name}>"


def test_records_are_compared_by_type_and_fields() -> None:
    assert Port("mlx5_0", 1, [4]) == Port("mlx5_0", lanes=[4])
    assert Port("mlx5_0") != Port("mlx5_1")
    assert Port("mlx5_0") != NamedPort("mlx5_0")


def test_equal_records_are_one_key() -> None:
    assert len({Address("::1"), Address("::1"), Address("::2")}) == 2


def test_a_record_of_a_list_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Port("mlx5_0"))


def test_a_record_is_shown_by_its_fields_or_as_its_class_says() -> None:
    assert repr(Port("mlx5_0")) == "Port(device='mlx5_0', number=1, lanes=[])"
    assert repr(NamedPort("mlx5_0", name="rail0")) == "<rail0>"


def test_a_record_is_copied_as_a_dataclass_is() -> None:
    port = NamedPort("mlx5_0", name="rail0")
    assert dataclasses.replace(port, number=2) == NamedPort("mlx5_0", 2, [], "rail0")
    assert dataclasses.asdict(port) == {"device": "mlx5_0", "number": 1, "lanes": [], "name": "rail0"}
    assert pickle.loads(pickle.dumps(port)) == copy.deepcopy(port) == port
