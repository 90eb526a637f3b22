# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of names as ranges: what `expand` of a list of hosts reads is what was folded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.muster.train.plugins.plugin_utils._request.host_list import expand
from ansible_collections.muster.train.plugins.plugin_utils._text.ranges import fold

NAMES = st.lists(
    st.one_of(
        st.integers(0, 120).map(str),
        st.integers(0, 120).map("n{:03d}".format),
        st.tuples(st.integers(0, 3), st.integers(7, 12)).map(lambda pair: f"rack{pair[0]}-node{pair[1]:02d}.lan"),
        st.from_regex(r"[a-z]{1,2}[0-9]{1,3}[.-]?[0-9]{0,2}[a-z]?", fullmatch=True),
    ),
    max_size=60,
)


@pytest.mark.parametrize(
    ("names", "ranges"),
    [
        ([f"n{number:03d}" for number in range(1, 129)], ["n[001-128]"]),
        (["n001", "n002", "n004", "login"], ["n[001-002,004]", "login"]),
        (["gpu8", "gpu9", "gpu10"], ["gpu[8-10]"]),
        (["10.0.0.11", "10.0.0.12", "10.0.1.11", "10.0.1.12"], ["10.0.[0-1].[11-12]"]),
        (["r1-n1", "r1-n2", "r2-n1"], ["r1-n[1-2]", "r2-n1"]),
        (["n1.cluster7.lan", "n2.cluster7.lan"], ["n[1-2].cluster7.lan"]),
        (["n1", "n01"], ["n[1,01]"]),
        (["n9", "n010"], ["n[9,010]"]),
        (["head"], ["head"]),
        ([], []),
    ],
)
def test_names_that_differ_in_a_number_become_a_range(names: list[str], ranges: list[str]) -> None:
    assert list(fold(names)) == ranges


def test_a_name_with_other_signs_stays_as_it_is() -> None:
    names = ["n[1]", "n[2]", "é1", "é2", "n1234567890", "n1234567891"]
    assert list(fold(names)) == names


@given(NAMES)
def test_expanding_gives_back_what_was_folded(names: list[str]) -> None:
    ranges = fold(names)
    assert {name for text in ranges for name in expand(text)} == set(names)
    assert sum(len(list(expand(text))) for text in ranges) == len(set(names))
    assert all(set(expand(text)) == set(members) for text, members in ranges.items())
