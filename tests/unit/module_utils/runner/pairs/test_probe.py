# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe by TCP, over sockets of this machine."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.muster.train.plugins.module_utils._records.pairs import STALLED, UNREACHABLE
from ansible_collections.muster.train.plugins.module_utils.runner.pairs import probe
from ansible_collections.muster.train.plugins.module_utils.runner.pairs.probe import Probe, ProbeError


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "SILENT_S", 0.5)
    monkeypatch.setattr(probe, "CONNECT_S", 0.5)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port: int = closed.getsockname()[1]
    return port


def both_ends(first_port: int | None = None, second_port: int | None = None) -> list[Probe | ProbeError]:
    """What the ends of a pair learn; a port that is given is that to which the other end connects instead."""
    listeners = [probe.listen("127.0.0.1", 10.0) for _end in range(2)]
    ports = [given or listener.getsockname()[1] for given, listener in zip((first_port, second_port), listeners)]

    def end(place: int) -> Probe | ProbeError:
        try:
            return probe.measure(listeners[place], "127.0.0.1", ports[1 - place], place == 0)
        except ProbeError as error:
            return error

    with ThreadPoolExecutor() as pool:
        return list(pool.map(end, range(2)))


def test_both_ends_learn_the_same() -> None:
    first, second = both_ends()
    assert isinstance(first, Probe) and isinstance(second, Probe)
    assert first.segment == second.segment > 1000
    assert first.resent is not None
    assert first.resent == second.resent


@pytest.mark.parametrize(("closed", "is_towards_first"), [("first_port", True), ("second_port", False)])
def test_a_node_that_accepts_no_connection(closed: str, is_towards_first: bool) -> None:
    ends = both_ends(**{closed: closed_port()})
    known = [(end.outcome, end.is_towards_first) for end in ends if isinstance(end, ProbeError)]
    assert known == [(UNREACHABLE, is_towards_first)] * 2


def test_nothing_comes_through_the_connection() -> None:
    listener = probe.listen("127.0.0.1", 10.0)
    with socket.create_connection(listener.getsockname()[:2]), pytest.raises(ProbeError) as raised:
        probe.measure(listener, "127.0.0.1", closed_port(), is_first=True)
    assert raised.value.outcome == STALLED


def test_both_ways_are_given_up_before_the_pair_is() -> None:
    with probe.listen("127.0.0.1", 0.5) as listener:
        assert 2 * (listener.gettimeout() or 1) < 0.5


def test_the_address_towards_another_node() -> None:
    assert probe.local_address("lo", "192.0.2.1") == "127.0.0.1"
    for unknown in ("", "none0", "^docker"):
        assert probe.local_address(unknown, "127.0.0.1") == "127.0.0.1"
