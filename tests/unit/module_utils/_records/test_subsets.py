# SPDX-License-Identifier: GPL-3.0-or-later
"""Which subsets a choice means."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.subsets import CHOICES, SUBSETS, select


@pytest.mark.parametrize(
    ("words", "subsets"),
    [
        (["all"], SUBSETS),
        ([], SUBSETS),
        (["min"], ()),
        (["!all"], ()),
        (["gpu", "net"], ("net", "gpu")),
        (["min", "gpu"], ("gpu",)),
        (["!all", "gpu"], ("gpu",)),
        (["!gpu"], tuple(name for name in SUBSETS if name != "gpu")),
        (["all", "!gpu", "!net"], tuple(name for name in SUBSETS if name not in ("gpu", "net"))),
        (["gpu", "!gpu"], ()),
    ],
)
def test_select(words: list[str], subsets: tuple[str, ...]) -> None:
    assert select(words) == subsets


def test_every_choice_selects_or_removes() -> None:
    assert len(set(CHOICES)) == len(CHOICES) == 2 * len(SUBSETS) + 4
    for name in SUBSETS:
        assert select([name]) == (name,)
        assert name not in select([f"!{name}"])
