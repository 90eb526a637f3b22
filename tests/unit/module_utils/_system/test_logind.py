# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose processes logind ends with their session."""

from __future__ import annotations

import pytest

from ansible_collections.muster.train.plugins.module_utils._system.logind import parse_logind

YES = "KillUserProcesses=yes\n"


@pytest.mark.parametrize(
    ("text", "user", "killed"),
    [
        ("", "ann", None),
        (YES, "ann", True),
        (YES, "root", False),
        (f"{YES}KillExcludeUsers=\n", "root", True),
        (f"{YES}KillExcludeUsers=ann\n", "root", True),
        (f"{YES}KillExcludeUsers=bob\nKillExcludeUsers=ann eve\n", "bob", False),
        (f"{YES}KillExcludeUsers=ann\nKillExcludeUsers=\n", "ann", True),
        (f"{YES}KillOnlyUsers=bob\n", "ann", False),
        ("KillUserProcesses=no\nKillOnlyUsers=bob ann\n", "ann", True),
        (f"{YES}KillOnlyUsers=ann\nKillExcludeUsers=ann\n", "ann", False),
        (f"{YES}KillOnlyUsers=\n#KillExcludeUsers=ann\n", "ann", True),
    ],
)
def test_lists_of_users_come_before_the_switch(text: str, user: str, killed: bool | None) -> None:
    assert parse_logind(text).kills(user) is killed
