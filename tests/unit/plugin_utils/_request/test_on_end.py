# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user gives for the end of a run."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._request import on_end


@pytest.mark.parametrize("text", ["./notify 'two words'", "https://example.com/hook?x=1", "secret:SLACK_URL"])
def test_a_command_or_an_address(text: str) -> None:
    assert on_end.check(text) == text


REFUSED = ["ftp://example.com", "https://me:word@example.com/", "secret:A-B", "echo 'open", ""]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^\S"):
        on_end.check(text)
