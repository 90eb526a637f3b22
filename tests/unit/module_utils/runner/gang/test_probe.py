# SPDX-License-Identifier: GPL-3.0-or-later
"""When a member probes its head, and what an answer is worth."""

from __future__ import annotations

import math
import selectors
import socket
from collections.abc import Iterator

import pytest

from ansible_collections.muster.train.plugins.module_utils.runner.gang.frames import PROBE, plain, proof, request
from ansible_collections.muster.train.plugins.module_utils.runner.gang.network import GangNetwork
from ansible_collections.muster.train.plugins.module_utils.runner.gang.probe import (
    MAX_PROBES,
    TRUST,
    HeadProbe,
    HeadProbes,
)

IDENTITY = b"key", "run nonce", 1
LOST_AFTER = 5.0


class Peer:
    """The head's end of each probe, and the member's clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.selector = selectors.DefaultSelector()
        self.sockets = [socket.socket()]
        self.network = GangNetwork(clock=lambda: self.now, nonce=lambda: "bb", reconnect=self.reconnect)
        self.probes = HeadProbes(self.selector, self.network, IDENTITY, LOST_AFTER)

    def reconnect(self, _sock: socket.socket) -> socket.socket:
        mine, its = socket.socketpair()
        self.sockets.append(its)
        return mine

    def open_probe(self) -> HeadProbe:
        return HeadProbe(self.reconnect(self.sockets[0]), self.selector, self.network, IDENTITY)

    def tick(self, now: float, silence: float, link_silence: float) -> None:
        self.probes.tick(self.sockets[0], now, silence, link_silence)

    def send(self, line: bytes) -> None:
        """Send a line to the last probe, which handles it."""
        self.sockets[-1].sendall(line)
        for key, events in self.selector.select(1.0):
            key.data(events)

    @property
    def open_probes(self) -> int:
        return len(self.selector.get_map())


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    for key in [*peer.selector.get_map().values()]:
        key.data.__self__.close()
    for sock in peer.sockets:
        sock.close()
    peer.selector.close()


def test_an_answer_proves_that_the_head_held_the_node_when_the_probe_was_sent(peer: Peer) -> None:
    probe = peer.open_probe()
    peer.send(plain({"type": "hello", "nonce": "aa"}))
    line, session = request(PROBE, IDENTITY, ("aa", "bb"))
    assert peer.sockets[-1].recv(1000) == line
    peer.now += 4.0
    peer.send(plain({"type": "welcome", "mac": proof(session.key, "welcome")}))
    assert probe.heard == 100.0
    assert peer.open_probes == 0


@pytest.mark.parametrize("answer", [{"type": "refused"}, {"type": "welcome", "mac": "0" * 64}])
def test_another_answer_proves_nothing(peer: Peer, answer: dict[str, str]) -> None:
    probe = peer.open_probe()
    peer.send(plain({"type": "hello", "nonce": "aa"}))
    peer.send(plain(answer))
    assert probe.heard == -math.inf
    assert peer.open_probes == 0


def test_a_head_is_probed_again_and_again_until_it_is_heard(peer: Peer) -> None:
    for tick in range(50):
        peer.now, silence = 100.0 + tick / 10, tick / 10
        peer.tick(peer.now, silence, silence)
        assert bool(peer.open_probes) == (silence > 3.0)
    assert peer.open_probes == MAX_PROBES == len(peer.sockets) - 1
    peer.tick(peer.now + 1.0, 6.0, 6.0)
    assert peer.open_probes == MAX_PROBES
    peer.tick(peer.now + 2.0, 0.1, 6.0)
    assert peer.open_probes == 0


def test_probes_do_not_replace_the_first_connection_forever(peer: Peer) -> None:
    peer.tick(100.0, 4.0, TRUST * LOST_AFTER)
    assert peer.open_probes == 1
    peer.tick(101.0, 4.0, TRUST * LOST_AFTER + 0.1)
    assert peer.open_probes == 0
