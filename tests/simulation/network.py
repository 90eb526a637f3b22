# SPDX-License-Identifier: GPL-3.0-or-later
"""The network of a simulated world: ordered links with latency, and all that TCP tells apart: FIN, RST and silence."""

from __future__ import annotations

import collections
import errno
import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .node import Node
    from .world import World

FIN, RST = b"FIN", b"RST"  # no line of the gang is one of these
# How long TCP may take to send again what was not acknowledged, after a cut: as long as the cut, and no less than this.
RESEND_S = 3.0
# When TCP first tries again to connect.
SYN_S = 1.0
KIND = re.compile(rb'"type": "(\w+)"')

Item = bytes


class End:
    """One end of a connection, with the methods of a socket that the gang uses."""

    def __init__(self, network: Network, node: Node) -> None:
        self.node = node
        self.peer: End = self
        self.inbox: collections.deque[Item] = collections.deque()
        self.held: collections.deque[Item] = collections.deque()  # what a cut keeps from arriving
        self.arrival = 0.0  # of what was sent last
        self.is_closed = False
        self._network = network
        node.ends.append(self)

    @property
    def is_readable(self) -> bool:
        return bool(self.inbox)

    def setblocking(self, _flag: bool) -> None:
        pass

    def setsockopt(self, *_option: int) -> None:
        pass

    def send(self, data: bytes) -> int:
        if self.inbox and self.inbox[-1] == RST:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        self._network.send(self, data)
        return len(data)

    def recv(self, _size: int) -> bytes:
        if not self.inbox:
            raise BlockingIOError(errno.EAGAIN, "nothing has arrived")
        item = self.inbox[0]
        if item == RST:
            raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        if item == FIN:
            return b""
        data = b""
        while self.inbox and self.inbox[0] not in (FIN, RST):
            data += self.inbox.popleft()
        return data

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.node.ends.remove(self)
            self._network.send(self, RST if any(item not in (FIN, RST) for item in self.inbox) else FIN)


class Listener:
    """The head's listening socket."""

    def __init__(self, network: Network, node: Node) -> None:
        self.node = node
        self.backlog: collections.deque[End] = collections.deque()
        self._network = network

    @property
    def is_readable(self) -> bool:
        return bool(self.backlog)

    def listen(self, _backlog: int) -> None:
        self._network.listener = self

    def setblocking(self, _flag: bool) -> None:
        pass

    def accept(self) -> tuple[End, tuple[str, int]]:
        if not self.backlog:
            raise BlockingIOError(errno.EAGAIN, "nobody has connected")
        return self.backlog.popleft(), ("127.0.0.1", 0)

    def close(self) -> None:
        self._network.listener = None
        for end in self.backlog:
            end.inbox.append(b"unread")
            end.close()


class Network:
    """Carries what the ends send; cuts holds the pairs of nodes, from and to, between which nothing arrives."""

    def __init__(self, world: World, latency: tuple[float, float]) -> None:
        self.listener: Listener | None = None
        self.cuts: collections.Counter[tuple[int, int]] = collections.Counter()
        self.on_line: Callable[[str, int, int], None] = lambda _kind, _source, _target: None
        self._holding: list[End] = []
        self._cut_at: dict[tuple[int, int], float] = {}
        self._world = world
        self._latency = latency

    def connect(self, node: Node, _endpoint: tuple[str, int], limit: float) -> End:
        """Connect a node with the head; raise OSError where that fails."""
        deadline = self._world.now + limit
        node.wait(self._world.now + self._delay())
        listener = self.listener
        head = 0 if listener is None else listener.node.number
        if self.cuts[node.number, head] or self.cuts[head, node.number] or not node.world_nodes[head].is_up:
            node.wait(deadline)
            raise TimeoutError(errno.ETIMEDOUT, "timed out")
        if listener is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        mine, its = self._pair(node, listener.node)
        listener.backlog.append(its)
        self._world.after(0.0, listener.node.wake)
        return mine

    def reconnect(self, node: Node, end: End) -> End:
        """Return an end that connects with the node of another one, while its own node goes on."""
        mine, its = self._pair(node, end.peer.node)
        self._world.after(2 * self._delay(), functools.partial(self._knock, mine, its, SYN_S))
        return mine

    def _pair(self, node: Node, other: Node) -> tuple[End, End]:
        mine, its = End(self, node), End(self, other)
        mine.peer, its.peer = its, mine
        return mine, its

    def _knock(self, mine: End, its: End, patience_s: float) -> None:
        """Arrive at the other node, or try again after ever longer."""
        source, target = mine.node.number, its.node.number
        if mine.is_closed or not mine.node.is_up:
            return
        if self.cuts[source, target] or self.cuts[target, source] or not its.node.is_up:
            self._world.after(patience_s, functools.partial(self._knock, mine, its, 2 * patience_s))
        elif self.listener is None:
            mine.inbox.append(RST)
            mine.node.wake()
        else:
            self.listener.backlog.append(its)
            self._world.after(0.0, its.node.wake)

    def send(self, end: End, item: Item) -> None:
        end.arrival = max(end.arrival, self._world.now + self._delay())
        source, target = end.node.number, end.peer.node.number
        for kind in KIND.findall(item):
            self._world.trace(f"n{source} -> n{target}", kind.decode())
            self.on_line(kind.decode(), source, target)
        self._world.at(end.arrival, functools.partial(self._arrive, end, item))

    def cut(self, source: int, target: int) -> None:
        self.cuts[source, target] += 1
        self._cut_at.setdefault((source, target), self._world.now)

    def heal(self, source: int, target: int) -> None:
        """End a cut; what it held comes a while after the last one has ended."""
        self.cuts[source, target] -= 1
        if self.cuts[source, target]:
            return
        resend_s = max(RESEND_S, self._world.now - self._cut_at.pop((source, target)))
        for end in self._holding:
            if (end.node.number, end.peer.node.number) == (source, target):
                self._world.after(self._world.chance.uniform(0.0, resend_s), functools.partial(self._resend, end))

    def reset(self, end: End) -> None:
        """Break a connection as a firewall does: both ends get RST."""
        for side in (end, end.peer):
            side.inbox.append(RST)
            side.node.wake()

    def _delay(self) -> float:
        return self._world.chance.uniform(*self._latency)

    def _arrive(self, end: End, item: Item) -> None:
        if end.held or self.cuts[end.node.number, end.peer.node.number]:
            if not end.held:
                self._holding.append(end)
            end.held.append(item)
        else:
            self._deliver(end, item)

    def _resend(self, end: End) -> None:
        """Deliver what was sent first; the rest is sent again once that is acknowledged."""
        if not end.held or not end.node.is_up or self.cuts[end.node.number, end.peer.node.number]:
            return
        self._deliver(end, end.held.popleft())
        if end.held:
            self._world.after(2 * self._delay(), functools.partial(self._resend, end))
        else:
            self._holding.remove(end)

    def _deliver(self, end: End, item: Item) -> None:
        peer = end.peer
        if not peer.node.is_up:
            return
        if not peer.is_closed:
            peer.inbox.append(item)
            peer.node.wake()
        elif item not in (FIN, RST):
            self.send(peer, RST)
