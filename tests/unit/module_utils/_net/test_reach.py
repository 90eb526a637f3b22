# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of others."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost, LookedUp
from ansible_collections.muster.train.plugins.module_utils._net.reach import parse_target, read_reach
from ansible_collections.muster.train.plugins.module_utils._records.health import Reach
from ansible_collections.muster.train.tests.support.machines import Machine
from ansible_collections.muster.train.tests.support.this_machine import OwnMachine


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("10.0.0.1:29500", ("10.0.0.1", 29500)),
        (" [fd00::1]:1 ", ("fd00::1", 1)),
        ("[fe80::1%ib0]:65535", ("fe80::1%ib0", 65535)),
        ("10.0.0.1", None),
        ("10.0.0.1:0", None),
        ("10.0.0.1:65536", None),
        ("fd00::1:80", None),
        ("head-0.lab.svc:29500", ("head-0.lab.svc", 29500)),
        ("head", None),
        ("a b:29500", None),
        ("", None),
    ],
)
def test_target(text: str, target: tuple[str, int] | None) -> None:
    assert parse_target(text) == target


def reached(root: Path) -> list[Reach]:
    """What came of one port after the other, and of what is not the port of an address."""
    host = OwnMachine({}, root)
    states = (0, errno.ECONNREFUSED, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EMFILE)
    host.system.states = {(f"10.0.0.{number}", 22): state for number, state in enumerate(states)}
    host.system.names = {"head": LookedUp(["10.0.0.0", "10.0.0.2"])}
    asked = [*(f"10.0.0.{number}:22" for number in range(len(states))), "10.0.0.0:22", "head:22", "gone:22", "head"]
    return read_reach(host, asked) or []


def test_what_came_of_it(tmp_path: Path) -> None:
    results = ["connected", "refused", "timeout", "unreachable", "unreachable", "unknown"]
    assert [(reach.address, reach.port, reach.result, bool(reach.error)) for reach in reached(tmp_path)] == [
        *((f"10.0.0.{number}", 22, result, number > 1) for number, result in enumerate(results)),
        ("head", 22, "connected", False),
        ("gone", 22, "unknown", True),
        ("head", 0, "unknown", True),
    ]


def test_this_machine_and_a_tree(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert read_reach(LiveHost(), [f"127.0.0.1:{port}"]) == [Reach("127.0.0.1", port, "connected")]
        assert read_reach(Machine({}, tmp_path), [f"127.0.0.1:{port}"]) is None
        assert read_reach(LiveHost(), []) == []
