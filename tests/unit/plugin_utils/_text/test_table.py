# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the table and of what it does to strings from hosts."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._text.printable import clean
from ansible_collections.muster.train.plugins.plugin_utils._text.table import (
    aligned,
    names,
    node_names,
    one_line,
    table,
)

HEADERS = ("node", "rank", "why")


def test_columns_are_aligned_and_no_line_ends_in_blanks() -> None:
    assert table(HEADERS, [("node0", "0", ""), ("n1", "10", "lost")], 80) == [
        "node   rank  why",
        "node0  0",
        "n1     10    lost",
    ]


def test_a_column_that_is_empty_everywhere_is_left_out() -> None:
    assert table(HEADERS, [("node0", "", "x"), ("node1", "", "y")], 80) == ["node   why", "node0  x", "node1  y"]
    assert table(HEADERS, [("node0", "0", "")], 80) == ["node   rank", "node0  0"]


def test_without_anything_to_show_there_is_no_table() -> None:
    assert table(HEADERS, [], 80) == []
    assert table(HEADERS, [("", "", "")], 80) == []


def test_the_last_column_is_wrapped_to_the_width() -> None:
    story = ("a long story of " * 6).strip()
    lines = table(("node", "why"), [("node0", story)], 40)
    assert max(map(len, lines)) <= 40
    assert all(line.startswith(" " * 7) and line[7] != " " for line in lines[2:])
    assert " ".join(line[7:] for line in lines[1:]) == story


def test_the_last_column_keeps_its_minimum_on_a_narrow_terminal() -> None:
    why = "twenty-four signs are it"
    assert table(("node", "why"), [("n" * 60, why)], 40)[1] == "n" * 60 + "  " + why


def test_a_cell_can_not_break_the_table() -> None:
    assert table(("a", "b"), [("x\ny\x1b[2J", "z")], 80) == ["a    b", "x y  z"]


def test_aligned() -> None:
    assert aligned([("a", "x\ny"), ("long", "z")]) == ["  a:    x y", "  long: z"]
    assert aligned([]) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ä 模型 loss=1.5 🏖", "plain ä 模型 loss=1.5 🏖"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("a\tb\nc\rd", "a b c d"),
        ("bell\x07nul\x00csi\x9b1m", "bell\ufffdnul\ufffdcsi\ufffd1m"),
        ("rtl\u202egpj.exe", "rtl\ufffdgpj.exe"),
        ("half \udc80", "half \ufffd"),
        ("no\u00a0break", "no break"),
        ("{{ lookup('pipe', 'id') }}", "{{ lookup('pipe', 'id') }}"),
        (7, "7"),
    ],
)
def test_clean(text: object, expected: str) -> None:
    assert clean(text) == expected
    assert clean(text).isprintable()


def test_one_line() -> None:
    assert one_line("a\n\n  b\t c ") == "a b c"
    assert one_line("x" * 300, limit=10) == "x" * 9 + "…"
    assert one_line("x" * 10, limit=10) == "x" * 10


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, ""),
        (1, "n0"),
        (2, "n0 and n1"),
        (3, "n0, n1 and n2"),
        (8, "n0, n1, n2, n3, n4, n5, n6 and n7"),
        (9, "n0, n1, n2, n3, n4, n5, n6, n7 and 1 more"),
        (1000, "n0, n1, n2, n3, n4, n5, n6, n7 and 992 more"),
    ],
)
def test_names(count: int, text: str) -> None:
    assert names([f"n{number}" for number in range(count)]) == text


def test_names_of_as_many_as_are_wanted() -> None:
    assert names(["a", "b", "c", "d"], 2) == "a, b and 2 more"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, ""), (2, "n0 and n1"), (8, "n0, n1, n2, n3, n4, n5, n6 and n7"), (9, "n[0-8]"), (1000, "n[0-999]")],
)
def test_many_nodes_are_named_as_ranges(count: int, text: str) -> None:
    assert node_names([f"n{number}" for number in range(count)]) == text


def test_nodes_in_the_ranges_that_are_not_named_are_counted() -> None:
    assert node_names(["n1", "n2", "n3", "q", "s1", "s2"], 2) == "n[1-3], q and 2 more"


def test_nodes_are_named_in_natural_order_whoever_answered_first() -> None:
    assert node_names(["n10", "n2", "n1"]) == "n1, n2 and n10"
