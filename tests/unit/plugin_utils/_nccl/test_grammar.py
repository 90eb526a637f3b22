# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of NCCL's list grammar: every sign and trap of it."""

from __future__ import annotations

import random

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._nccl.grammar import parse, render

NAMES = ("mlx5_0", "mlx5_1", "mlx5_10", "mlx5_bond_0")


def taken(value: str, port: int = 1, version: tuple[int, ...] | None = None) -> list[str]:
    return [name for name in NAMES if parse(value, version).takes(name, port)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", list(NAMES)),
        ("=", list(NAMES)),
        (",", list(NAMES)),
        ("^", []),
        ("^=", []),
        ("mlx5", list(NAMES)),
        ("mlx5_1", ["mlx5_1", "mlx5_10"]),
        ("=mlx5_1", ["mlx5_1"]),
        ("^mlx5_1", ["mlx5_0", "mlx5_bond_0"]),
        ("^=mlx5_1", ["mlx5_0", "mlx5_10", "mlx5_bond_0"]),
        ("=^mlx5_1", []),
        ("^mlx5_", []),
        ("=mlx5_0,mlx5_10", ["mlx5_0", "mlx5_10"]),
        ("=mlx5_0, mlx5_1", ["mlx5_0"]),
        (" mlx5_0", []),
        ("=mlx5_0:1", ["mlx5_0"]),
        ("=mlx5_0:2", []),
        ("=mlx5_0:-1", ["mlx5_0"]),
        ("=mlx5_0:1:0:0,mlx5_1:1:0:1", ["mlx5_0", "mlx5_1"]),
        ("^=mlx5_0:2", list(NAMES)),
        ("=:1,mlx5_0", ["mlx5_0"]),
        ("=mlx5_0:one", []),
        ("=mlx5_0,^mlx5_1", ["mlx5_0"]),
    ],
)
def test_what_a_value_takes(value: str, expected: list[str]) -> None:
    assert taken(value) == expected


@pytest.mark.parametrize(("version", "expected"), [(None, ["mlx5_0"]), ((2, 30, 7), ["mlx5_0"]), ((2, 27, 3), [])])
def test_an_empty_port_is_any_since_2_30(version: tuple[int, ...] | None, expected: list[str]) -> None:
    assert taken("=mlx5_0::0:0", version=version) == expected


def test_a_name_without_a_port_is_every_port() -> None:
    assert [parse("=mlx5_0").takes("mlx5_0", port) for port in (1, 2)] == [True, True]
    assert [parse("=mlx5_0:2").takes("mlx5_0", port) for port in (1, 2)] == [False, True]


def test_what_is_written_takes_exactly_that() -> None:
    assert render(["mlx5_0", "mlx5_1:2"]) == "=mlx5_0,mlx5_1:2"
    assert taken(render(["mlx5_1"])) == ["mlx5_1"]


def test_it_reads_anything() -> None:
    choose = random.Random(3)
    for _number in range(10_000):
        value = "".join(choose.choices("^=:,mlx5_01 \t\0é", k=choose.randrange(12)))
        parse(value, choose.choice((None, (2, 19), (2, 30)))).takes("mlx5_0", 1)
