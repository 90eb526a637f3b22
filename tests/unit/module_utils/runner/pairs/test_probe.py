# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe by TCP, over sockets of this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.pairs import STALLED, UNREACHABLE
from ansible_collections.muster.train.plugins.module_utils.runner.pairs import probe
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.probe import Probe, ProbeError


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SILENT_S", 0.5)
    monkeypatch.setattr(probe, "CONNECT_S", 0.5)


def beside(other: Callable[[str, int], object]) -> Callable[[], Probe]:
    """Return the listening end, while the other one runs in a thread."""
    listener = probe.listen("127.0.0.1")
    thread = threading.Thread(target=other, args=listener.getsockname()[:2])

    def accept() -> Probe:
        thread.start()
        try:
            return probe.accept(listener)
        finally:
            thread.join()

    return accept


def test_both_ends_learn_the_same() -> None:
    ends: list[Probe] = []
    known = beside(lambda address, port: ends.append(probe.connect(address, port)))()
    assert known.segment == ends[0].segment > 1000
    assert known.resent == ends[0].resent is not None


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ProbeError) as raised:
        probe.connect("127.0.0.1", port)
    assert raised.value.outcome == UNREACHABLE


def test_nobody_comes() -> None:
    with pytest.raises(ProbeError) as raised:
        probe.accept(probe.listen("127.0.0.1"))
    assert raised.value.outcome == UNREACHABLE


def test_nothing_comes_through_the_connection() -> None:
    held: list[socket.socket] = []
    with pytest.raises(ProbeError) as raised:
        beside(lambda address, port: held.append(socket.create_connection((address, port))))()
    assert raised.value.outcome == STALLED
    held[0].close()


def test_the_address_towards_another_node() -> None:
    assert probe.local_address("lo", "192.0.2.1") == "127.0.0.1"
    for unknown in ("", "none0", "^docker"):
        assert probe.local_address(unknown, "127.0.0.1") == "127.0.0.1"
