# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers take what comes: no text of a machine is an exception."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import yaml

from ansible_collections.muster.train.plugins.module_utils._code import parse_status
from ansible_collections.muster.train.plugins.module_utils._limits import parse_memlock
from ansible_collections.muster.train.plugins.module_utils._machine import parse_cpu_list
from ansible_collections.muster.train.plugins.module_utils._mounts import parse_mountinfo
from ansible_collections.muster.train.plugins.module_utils._net import parse_addresses, parse_listeners, parse_routes
from ansible_collections.muster.train.tests.unit.machines import MACHINES

PARSERS = [parse_addresses, parse_routes, parse_listeners, parse_memlock, parse_cpu_list, parse_status, parse_mountinfo]
SAMPLES = [
    text
    for path in sorted(MACHINES.glob("*.yml"))
    for text in yaml.safe_load(path.read_text())["files"].values()
    if text
]


def mutate(text: str, chance: random.Random) -> str:
    parts = list(text[: chance.randrange(20, 1500)])
    for _change in range(chance.randrange(1, 12)):
        place = chance.randrange(len(parts)) if parts else 0
        parts[place : place + chance.randrange(3)] = chance.choice(
            ["", "\n", " ", "-", ":", "x", "9" * 40, "\0", "\u0663", "|-- ", "/32"]
        )
    return "".join(parts)


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)
def test_no_text_is_an_exception(parse: Callable[[str], object]) -> None:
    chance = random.Random(42)
    for _case in range(2000):
        parse(mutate(chance.choice(SAMPLES), chance))
