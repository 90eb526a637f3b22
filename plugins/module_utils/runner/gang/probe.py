# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes of a silent head: further connections, beside the one that carries the orders.

After a cut TCP waits for up to as long again before it sends what was lost. A new connection shows earlier that both
sides are alive.
"""

from __future__ import annotations

import contextlib
import math
import selectors
import socket

from .frames import PROBE, Credentials, Forged, Session, is_proof, parse, request
from .link import Connection
from .network import GangNetwork

# The part of the limit after which a silent head is probed, and how many seconds lie between two probes.
SUSPICION, PROBE_S = 0.6, 0.5
# For how many times the limit probes may replace the connection that carries the orders; TCP needs twice the cut.
TRUST = 2.0
# So many probes wait for an answer at most; the oldest is given up for a new one.
MAX_PROBES = 4


class HeadProbe:
    """One connection that proves the key, as a join does, and learns whether the head still holds this node."""

    def __init__(
        self, sock: socket.socket, selector: selectors.BaseSelector, network: GangNetwork, credentials: Credentials
    ) -> None:
        self.heard = -math.inf  # when the node sent what the head has answered
        self._network = network
        self._credentials = credentials
        self._session: Session | None = None
        self._sent_at = -math.inf
        self._link = Connection(sock, selector, self._receive, lambda _why: None)

    def close(self) -> None:
        self._link.close()

    def _receive(self, line: bytes) -> None:
        message = parse(line)
        if self._session is None:
            nonces = str(message.get("nonce")), self._network.nonce()
            text, self._session = request(PROBE, self._credentials, nonces)
            self._sent_at = self._network.clock()
            self._link.send(text)
        elif is_proof(message.get("mac"), self._session.key, "welcome"):
            self.heard = self._sent_at
            self.close()
        else:
            raise Forged("it is not the head of this run, or has given up this node")


class HeadProbes:
    """The probes of a member; lost_after in seconds."""

    def __init__(
        self, selector: selectors.BaseSelector, network: GangNetwork, credentials: Credentials, lost_after: float
    ) -> None:
        self._selector = selector
        self._network = network
        self._credentials = credentials
        self._lost_after = lost_after
        self._heard = self._next = -math.inf
        self._probes: list[HeadProbe] = []

    @property
    def heard(self) -> float:
        """Return when the node sent the last probe that the head has answered."""
        self._heard = max([self._heard, *(probe.heard for probe in self._probes)])
        return self._heard

    def tick(self, sock: socket.socket, now: float, silence: float, link_silence: float) -> None:
        """Let time pass. sock: the first connection's.

        silence: since when, in seconds, the head has not been heard at all; link_silence: nor on the first connection.
        """
        if silence <= SUSPICION * self._lost_after or link_silence > TRUST * self._lost_after:
            self.close()
        elif now >= self._next:
            self._next = now + PROBE_S
            for probe in self._probes[: 1 - MAX_PROBES]:
                probe.close()
            self._probes = self._probes[1 - MAX_PROBES :]
            with contextlib.suppress(OSError):
                other = self._network.reconnect(sock)
                self._probes.append(HeadProbe(other, self._selector, self._network, self._credentials))

    def close(self) -> None:
        self._heard = self.heard
        for probe in self._probes:
            probe.close()
        self._probes.clear()
