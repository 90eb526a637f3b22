# SPDX-License-Identifier: GPL-3.0-or-later
"""Guesses at what somebody meant."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.plugin_utils._text.nearest import nearest, question


def test_the_name_most_like_a_spelling() -> None:
    assert nearest("chanels", ["channel", "channels", "threads"]) == "channels"
    assert nearest("timeuot", {"timeout": "time_limit"}) == "time_limit"
    assert nearest("epochs", ["channels", "threads"]) is None
    assert (nearest("lr", ["label"]), nearest("lr", ["label"], 0.2)) == (None, "label")


def test_a_guess_is_asked() -> None:
    assert (question("label"), question(None)) == ("did you mean 'label'? ", "")
