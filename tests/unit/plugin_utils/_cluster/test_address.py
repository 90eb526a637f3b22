# SPDX-License-Identifier: GPL-3.0-or-later
"""Which texts are addresses, and which of these lead back to the node itself."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.plugin_utils._cluster.address import is_address, is_loopback


@pytest.mark.parametrize(
    ("text", "address", "loopback"),
    [
        ("10.0.0.1", True, False),
        ("fd00::1", True, False),
        ("127.0.1.1", True, True),
        ("::1", True, True),
        ("localhost", False, True),
        ("node0", False, False),
        ("10.0.0.1:29400", False, False),
        ("", False, False),
    ],
)
def test_what_a_text_is(text: str, address: bool, loopback: bool) -> None:
    assert (is_address(text), is_loopback(text)) == (address, loopback)
