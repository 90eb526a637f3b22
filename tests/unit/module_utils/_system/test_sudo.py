# SPDX-License-Identifier: GPL-3.0-or-later
"""Becoming root."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.health import Sudo
from ansible_collections.muster.train.plugins.module_utils._system.sudo import read_sudo
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine, answer


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ({"sudo -n true": answer()}, Sudo(True)),
        (
            {"sudo -n true": answer("", "\nsudo: a password is required\n", 1)},
            Sudo(False, "sudo -n true: sudo: a password is required"),
        ),
        ({"sudo -n true": answer("", "", 1)}, Sudo(False, "sudo -n true: exit code 1")),
        ({}, Sudo(False, "sudo -n true: not found")),
    ],
)
def test_what_sudo_says(tmp_path: Path, commands: dict[str, object], expected: Sudo) -> None:
    assert read_sudo(OwnMachine({"commands": commands}, tmp_path)) == expected


def test_it_hangs(tmp_path: Path) -> None:
    host = OwnMachine({"commands": {"sudo -n true": answer()}}, tmp_path, ["sudo"])
    assert read_sudo(host) == Sudo(None, "sudo -n true: no answer within 5 s")


def test_root_asks_nobody(tmp_path: Path) -> None:
    host = OwnMachine({}, tmp_path)
    host.uid = 0
    assert read_sudo(host) == Sudo(True, "this user is root")
    assert host.commands_run == []


def test_a_tree(tmp_path: Path) -> None:
    host = Machine({"commands": {"sudo -n true": answer()}}, tmp_path)
    assert read_sudo(host) is None
    assert host.commands_run == []
