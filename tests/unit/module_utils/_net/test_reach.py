# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of others."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
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
        ("head:29500", None),
        ("", None),
    ],
)
def test_target(text: str, target: tuple[str, int] | None) -> None:
    assert parse_target(text) == target


def test_what_came_of_it(tmp_path: Path) -> None:
    host = OwnMachine({}, tmp_path)
    states = (0, errno.ECONNREFUSED, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EMFILE)
    host.system.states = {(f"10.0.0.{number}", 22): state for number, state in enumerate(states)}
    result = read_reach(host, [*(f"10.0.0.{number}:22" for number in range(len(states))), "10.0.0.0:22", "head:22"])
    assert result == [
        Reach("10.0.0.0", 22, "connected"),
        Reach("10.0.0.1", 22, "refused"),
        Reach("10.0.0.2", 22, "timeout", "no answer within 5 s"),
        Reach("10.0.0.3", 22, "unreachable", "No route to host"),
        Reach("10.0.0.4", 22, "unreachable", "Network is unreachable"),
        Reach("10.0.0.5", 22, "unknown", "Too many open files"),
        Reach("head:22", 0, "unknown", "not an address and a port"),
    ]


def test_this_machine_and_a_tree(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert read_reach(LiveHost(), [f"127.0.0.1:{port}"]) == [Reach("127.0.0.1", port, "connected")]
        assert read_reach(Machine({}, tmp_path), [f"127.0.0.1:{port}"]) is None
        assert read_reach(LiveHost(), []) == []
