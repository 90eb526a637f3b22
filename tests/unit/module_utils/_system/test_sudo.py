# SPDX-License-Identifier: GPL-3.0-or-later
"""Becoming root."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.health import Sudo
from ansible_collections.muster.train.plugins.module_utils._system.sudo import read_sudo
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine, answer

# What commands answer, and which of them hang.
REFUSED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a password is required": ({"sudo -n true": answer("", "\nsudo: a password is required\n", 1)}, []),
    "it says nothing": ({"sudo -n true": answer("", "", 1)}, []),
    "it is not there": ({}, []),
    "it hangs": ({"sudo -n true": answer()}, ["sudo"]),
}


@pytest.mark.parametrize(("commands", "hangs"), REFUSED.values(), ids=REFUSED)
def test_what_sudo_refuses(tmp_path: Path, commands: dict[str, Any], hangs: list[str]) -> None:
    result = read_sudo(OwnMachine({"commands": commands}, tmp_path, hangs))
    assert result is not None and result.why
    assert result.passwordless is (None if hangs else False)


def test_what_sudo_allows(tmp_path: Path) -> None:
    assert read_sudo(OwnMachine({"commands": {"sudo -n true": answer()}}, tmp_path)) == Sudo(True)


def test_root_asks_nobody(tmp_path: Path) -> None:
    host = OwnMachine({}, tmp_path)
    host.uid = 0
    result = read_sudo(host)
    assert (result and result.passwordless, host.commands_run) == (True, [])


def test_a_tree(tmp_path: Path) -> None:
    host = Machine({"commands": {"sudo -n true": answer()}}, tmp_path)
    assert read_sudo(host) is None
    assert host.commands_run == []
