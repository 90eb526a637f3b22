# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The head's side of the gang: it listens, lets in who proves the key, and carries the coordinator's orders."""

from __future__ import annotations

import contextlib
import errno
import functools
import resource
import selectors
import socket
import sys
import time
from typing import Any

from ..._records.job import Job
from .base import Gang, heartbeat_s
from .coordinator import OVER, Coordinator, Limits, join_names
from .frames import FROM_HEAD, PROVEN_BYTES, Forged, Session, is_proof, new_nonce, parse, plain, proof
from .link import Link

# Who has not proven the key by then is sent away.
HANDSHAKE_S = 5.0
BACKLOG = 4096
# Connections that have proven nothing yet, beyond two for each node: the oldest makes room.
STRANGERS = 1024
ACCEPTED_AT_ONCE = 256
# What the runner opens beside connections: logs and pipes of the ranks.
OWN_FILES = 1024
# The head hosts nothing after its last word, but a connection that is closed too early may lose it.
GOOD_BYE_S = 10.0
BIND_S = 5.0
# Who is silent is looked for so often.
LOOK_S = 1.0


def run_mark(job: Job) -> str:
    """Return what the proofs are bound to: the launch, not only the run."""
    return f"{job.run_id} {job.nonce}"


class _PendingConnection:
    """A connection that has proven nothing yet."""

    def __init__(self, now: float) -> None:
        self.nonce = new_nonce()
        self.since = now
        self.link: Link | None = None


class _MemberConnection:
    """A node that has joined."""

    def __init__(self, link: Link, session: Session) -> None:
        self.link = link
        self._session = session

    def send(self, message: dict[str, Any]) -> None:
        self.link.send(self._session.seal(message))

    def open(self, line: bytes) -> dict[str, Any]:
        return self._session.open(line)


class Head(Gang):
    """The head of a gang; with one node it is alone and listens to nobody."""

    def __init__(self, job: Job, key: bytes, selector: selectors.BaseSelector) -> None:
        super().__init__()
        now = time.monotonic()
        gang = job.gang
        limits = Limits(job.join_timeout, gang.lost_after, job.abort_grace, gang.max_restarts)
        self.coordinator = Coordinator(gang.nodes, job.nnodes, limits, now)
        self._key = key
        self._run = run_mark(job)
        self._selector = selector
        self._beat_s = heartbeat_s(job.nnodes, job.gang.lost_after)
        self._next_beat = self._next_look = self._ticked = now
        self._lost_after = gang.lost_after
        self._stop_grace = float(job.stop_grace)
        self._still = self._still_until = 0.0
        self._pending: dict[int, _PendingConnection] = {}
        self._members: dict[int, _MemberConnection] = {}
        self._lost: list[tuple[int, str]] = []
        self._max_pending = 0
        self._leaving_since: float | None = None
        self._listener = self._listen(job) if job.nnodes > 1 else None
        self.coordinator.on_join(0, now)
        self._carry()

    def _listen(self, job: Job) -> socket.socket:
        nodes = len(job.gang.nodes)
        room = _make_room(OWN_FILES + 3 * nodes + STRANGERS)
        self._max_pending = max(nodes, min(2 * nodes + STRANGERS, room - nodes - OWN_FILES // 2))
        listener = _bound(job.rendezvous.address, job.gang.port)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        return listener

    # -- the runner's side ---------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        still, self._ticked = now - self._ticked, now
        if self._lost_after and still >= self._lost_after / 2:
            self.coordinator.reset_silence(now)  # it was this node that said nothing
            if still >= self._lost_after - self._beat_s:  # long enough for others to give it up
                self._still, self._still_until = still, now + self._lost_after
        elif now > self._still_until:
            self._still = 0.0
        self._send_away(now)
        for number, why in self._lost:
            self._members.pop(number, None)
            self.coordinator.on_loss(number, why, head_pause_s=self._still)
        self._lost.clear()
        if now >= self._next_look:
            self._next_look = now + LOOK_S
            for number in self.coordinator.tick(now):
                self._members.pop(number).link.close()  # fenced: it may not come back
        self._carry()
        if now >= self._next_beat:
            self._next_beat = now + self._beat_s
            for member in list(self._members.values()):
                member.send({"type": "beat"})

    def report_running(self) -> None:
        self.coordinator.on_start(0)

    def report_failure(self, report: dict[str, Any]) -> None:
        self.coordinator.on_failure(0, report, time.monotonic())
        self._carry()

    def report_drained(self, report: dict[str, Any]) -> None:
        self.coordinator.on_drained(0, report, time.monotonic())
        self._carry()

    def request_stop(self, why: str, grace: float) -> None:
        self.coordinator.on_stop_request(why, grace)
        self._carry()

    def waiting_reason(self) -> str:
        missing = self.coordinator.missing_nodes()
        return (
            f"{len(missing)} of {self.coordinator.summary()['nodes']} nodes have not joined yet: {join_names(missing)}"
        )

    def summary(self) -> dict[str, Any] | None:
        return self.coordinator.summary()

    def leave(self) -> bool:
        now = time.monotonic()
        if self._leaving_since is None:
            self._leaving_since = now
            self._stop_listening()
        return not self._members or now - self._leaving_since > GOOD_BYE_S

    def close(self) -> None:
        self._stop_listening()
        for member in self._members.values():
            member.link.close()
        self._members.clear()

    # -- connections ---------------------------------------------------------------------------------------------

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
        for connection in self._pending.values():
            if connection.link is not None:
                connection.link.close()
        self._pending.clear()

    def _accept(self, _events: int) -> None:
        for _turn in range(ACCEPTED_AT_ONCE):
            if self._listener is None:
                return
            try:
                sock, _address = self._listener.accept()
            except OSError:  # nobody more, or no descriptor left: the next turn
                return
            if len(self._pending) >= self._max_pending:
                self._forget(next(iter(self._pending)))
            connection = _PendingConnection(time.monotonic())
            number = id(connection)
            self._pending[number] = connection
            prove, forget = functools.partial(self._prove, number), functools.partial(self._forget, number)
            connection.link = Link(sock, self._selector, prove, forget)
            connection.link.send(plain({"type": "hello", "nonce": connection.nonce}))

    def _forget(self, number: int, _why: str = "") -> None:
        connection = self._pending.pop(number, None)
        if connection is not None and connection.link is not None:
            connection.link.close()

    def _send_away(self, now: float) -> None:
        for number, connection in list(self._pending.items()):
            if now - connection.since < HANDSHAKE_S:
                return  # they are in the order of their coming
            self._forget(number)

    def _prove(self, number: int, line: bytes) -> None:
        connection = self._pending[number]
        link = connection.link
        if link is None:
            return
        message = parse(line)
        rank, theirs, stop = message.get("rank"), str(message.get("nonce")), str(message.get("stop") or "")
        if not isinstance(rank, int) or not 0 < rank < len(self.coordinator.nodes):
            rank = -1
        known = is_proof(message.get("mac"), self._key, "join", self._run, rank, connection.nonce, theirs, stop)
        session = Session(self._key, self._run, rank, (connection.nonce, theirs), FROM_HEAD)
        welcome = plain({"type": "welcome", "mac": proof(session.key, "welcome")})
        if known and stop:  # it comes to say so, not to stay
            link.send(welcome)
            self._forget(number)
            self.coordinator.on_stop_request(stop, self._stop_grace)
        # A place is taken once, and a node that was lost stays out.
        elif known and self.coordinator.on_join(rank, time.monotonic()):
            del self._pending[number]
            self._members[rank] = _MemberConnection(link, session)
            link.lines.limit = PROVEN_BYTES
            link.listen_to(functools.partial(self._hear, rank), functools.partial(self._miss, rank))
            link.send(welcome)
        else:
            link.send(plain({"type": "refused"}))
            raise Forged("no proof of the run's key, or its place is taken")
        self._carry()

    def _hear(self, number: int, line: bytes) -> None:
        message = self._members[number].open(line)
        now = time.monotonic()
        self.coordinator.on_heartbeat(number, now)
        kind, report = message.get("type"), message.get("report")
        if kind == "running":
            self.coordinator.on_start(number)
        elif kind == "failed" and isinstance(report, dict):
            self.coordinator.on_failure(number, report, now)
        elif kind == "drained" and isinstance(report, dict):
            self.coordinator.on_drained(number, report, now)
        elif kind == "request_stop":
            self.coordinator.on_stop_request(str(message.get("why")), float(message.get("grace") or 0))
        elif kind == "bye":
            self._members.pop(number).link.close()
            if self.coordinator.phase != OVER:
                self.coordinator.on_loss(number, "its runner left")
        self._carry()

    def _miss(self, number: int, why: str) -> None:
        self._lost.append((number, why))

    def _carry(self) -> None:
        for number, order in self.coordinator.take_orders():
            if number == 0:
                self.orders.append(order)
            elif number in self._members:
                self._members[number].send(order)


def _make_room(files: int) -> int:
    """Raise the limit of open files to so many at most, since the ranks inherit it; return what it is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files if hard == resource.RLIM_INFINITY else min(files, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return files if soft == resource.RLIM_INFINITY else soft
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft


def _bound(address: str, port: int) -> socket.socket:
    """Return a socket on the head's address; on all of them where the address is a router's, that maps it here."""
    family, _type, _proto, _name, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    everywhere = ("::" if family == socket.AF_INET6 else "", port)
    deadline = time.monotonic() + BIND_S
    while True:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(place)
            return listener
        except OSError as error:
            listener.close()
            if error.errno == errno.EADDRNOTAVAIL and place != everywhere:
                sys.stderr.write(f"{address} is no address of this node: the runner listens on all that it has\n")
                place = everywhere
            elif error.errno != errno.EADDRINUSE or time.monotonic() >= deadline:
                raise
            else:
                time.sleep(0.2)
