# SPDX-License-Identifier: GPL-3.0-or-later
"""The head's side of the gang: it listens, admits runners that prove the key, and delivers the coordinator's orders."""

from __future__ import annotations

import functools
import selectors
import socket
from collections.abc import Iterable
from typing import Any

from ..._records.hang import Hang, NodeLook
from ..._records.job import Job
from ..._records.run import Pace, RunWarning, StalledNode
from ..._records.transport import TransportVerdict
from .base import GOODBYE_S, STALLED_S, Gang, heartbeat_s, is_pause, launch_identity, overview_s
from .coordinator import OVER, RUN, Coordinator
from .end_cause import NAMES_SHOWN, join_names
from .frames import AUTHENTICATED_BYTES, FROM_HEAD, JOIN, PROBE, Forged, Session, is_proof, parse, plain, proof
from .hang_watch import HangWatch
from .link import Connection
from .listener import raise_file_limit
from .network import GangNetwork
from .next_port import NextPort
from .restarts import Limits
from .signs import Signs
from .transport_watch import TransportWatch

HANDSHAKE_S = 5.0  # a connection that has not proven the key by then is closed
BACKLOG = 4096
# Pending connections allowed beyond two per node; the oldest is dropped for a new one.
EXTRA_PENDING = 1024
ACCEPTED_AT_ONCE = 256
RUNNER_FILES = 1024  # opened beside connections: logs and pipes of the ranks
EXIT_S = 2.0  # how long the head waits, after the last goodbye, for the members' runners to exit
SILENCE_CHECK_S = 0.2  # how often the head looks for silent nodes


class Head(Gang):
    """The head of a gang; the head of a run on one node does not listen."""

    def __init__(self, job: Job, key: bytes, selector: selectors.BaseSelector, network: GangNetwork) -> None:
        super().__init__()
        self._network = network
        now = network.clock()
        gang = job.gang
        limits = Limits(job.join_timeout, gang.lost_after, job.abort_grace, gang.max_restarts)
        self.coordinator = Coordinator(gang.nodes, job.nnodes, limits, now)
        self._key = key
        self._run = launch_identity(job)
        self._selector = selector
        self._beat_s = heartbeat_s(job.nnodes, job.gang.lost_after)
        self._next_silence_check = self._next_pace = self._last_tick = now
        self._pace: Pace | None = None
        self._lost_after = gang.lost_after
        self._stop_grace = float(job.stop_grace)
        self._pause_s = self._pause_until = 0.0
        self._pending: dict[str, tuple[float, Connection]] = {}  # by the head's nonce: since when, and the connection
        self._members: dict[int, tuple[Connection, Session]] = {}
        self._heard: dict[int, Any] = {}  # when each member sent its last beat, by its own clock
        self._closed: list[tuple[int, str]] = []
        self._signs = Signs(job.nproc)
        self._hang_watch = HangWatch(job.hang_watch, job.hang_action)
        self._transport_watch = TransportWatch(job.transport)
        self.coordinator.final_cause = lambda: self._transport_watch.final_cause(self.coordinator, self._signs)
        self._leavers: dict[int, Connection] = {}  # whose runners have said goodbye, and are about to exit
        self._last_bye = now
        self._max_pending = 0
        self._leaving_since: float | None = None
        self._next_port = NextPort(job.rendezvous.port, gang.max_restarts, network.keep_port)
        self._listener = self._open_listener(job) if job.nnodes > 1 else None
        self.coordinator.on_join(0, now)
        self._deliver_orders()

    def _open_listener(self, job: Job) -> socket.socket:
        nodes = len(job.gang.nodes)
        limit = raise_file_limit(RUNNER_FILES + 3 * nodes + EXTRA_PENDING)
        self._max_pending = max(nodes, min(2 * nodes + EXTRA_PENDING, limit - nodes - RUNNER_FILES // 2))
        listener = self._network.bind(job.rendezvous.address, job.gang.port)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        return listener

    # -- the runner's side ---------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        pause, self._last_tick = now - self._last_tick, now
        if is_pause(pause, self._lost_after):
            self.coordinator.reset_silence(now)  # this node was silent, not the others
            if pause >= self._lost_after - self._beat_s:  # long enough for the others to give up the head
                self._pause_s, self._pause_until = pause, now + self._lost_after
        elif now > self._pause_until:
            self._pause_s = 0.0
        self._close_expired(now)
        for number, why in self._closed:
            self._members.pop(number, None)
            self.coordinator.on_loss(number, why, head_pause_s=self._pause_s)
        self._closed.clear()
        if now >= self._next_silence_check:
            self._next_silence_check = now + SILENCE_CHECK_S
            for number in self.coordinator.tick(now):
                self._members.pop(number)[0].close()  # fenced: it may not rejoin
        self._deliver_orders()

    def report_running(self) -> None:
        self.coordinator.on_start(0)

    def report_failure(self, report: dict[str, Any]) -> None:
        self.coordinator.on_failure(0, report, self._network.clock())
        self._deliver_orders()

    def report_drained(self, report: dict[str, Any]) -> None:
        now = self._network.clock()
        self._signs.note(0, self.sign, self.stalled_s, now)
        self.coordinator.on_drained(0, report, now)
        self._deliver_orders()

    def report_look(self, look: NodeLook) -> None:
        self._hang_watch.note(0, look)

    def hang(self, now: float) -> Hang | None:
        if self.coordinator.phase == RUN:
            self._deliver(self._hang_watch.watch(self.coordinator, self.pace(now), now))
            self._deliver_orders()
        return self._hang_watch.hang

    def transport(self, now: float) -> TransportVerdict | None:
        if self._transport_watch.is_needed and self.coordinator.phase == RUN:
            self._signs.note(0, self.sign, self.stalled_s, now)
            self._transport_watch.watch(self.coordinator, self._signs, now)
            self._deliver_orders()
        return self._transport_watch.verdict

    def request_stop(self, why: str, grace: float) -> None:
        self.coordinator.on_stop_request(why, grace)
        self._deliver_orders()

    def end_unanswered(self, why: str) -> None:
        self.coordinator.on_unanswered_stop(why)
        self._deliver_orders()

    def waiting_reason(self) -> str:
        missing = self.coordinator.missing_nodes()
        total = self.coordinator.summary()["nodes"]
        return f"{len(missing)} of {total} nodes have not joined yet: {join_names(missing)}"

    def summary(self) -> dict[str, Any] | None:
        return self.coordinator.summary()

    def stalled_nodes(self) -> list[StalledNode]:
        seconds = {number: seconds for number, seconds in self._signs.stalled_s.items() if number in self._members}
        if self.stalled_s >= STALLED_S:
            seconds[0] = self.stalled_s
        longest = sorted(seconds, key=lambda number: -seconds[number])[:NAMES_SHOWN]
        return [StalledNode(self.coordinator.nodes[number].name, seconds[number]) for number in longest]

    def raised(self) -> list[RunWarning]:
        return self._signs.raised()[:NAMES_SHOWN]

    def statuses(self, now: float) -> list[dict[str, Any]] | None:
        self._signs.note(0, self.sign, self.stalled_s, now)
        return self._signs.statuses(self.coordinator.nodes, now)

    def pace(self, now: float) -> Pace | None:
        if now >= self._next_pace:
            self._next_pace = now + overview_s(len(self.coordinator.nodes))
            self._signs.note(0, self.sign, self.stalled_s, now)
            self._pace = self._signs.pace(self.coordinator.nodes, self.coordinator.attempt, now)
        return self._pace

    def leave(self) -> bool:
        now = self._network.clock()
        if self._leaving_since is None:
            self._leaving_since = now
        waits_for_exits = bool(self._leavers) and now - self._last_bye <= EXIT_S
        return not (self._members or waits_for_exits) or now - self._leaving_since > GOODBYE_S

    def close(self) -> None:
        self._next_port.close()
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
        for _since, link in self._pending.values():
            link.close()
        self._pending.clear()
        for link in (*(link for link, _session in self._members.values()), *self._leavers.values()):
            link.close()
        self._members.clear()
        self._leavers.clear()

    # -- connections ---------------------------------------------------------------------------------------------

    def _accept(self, _events: int) -> None:
        for _index in range(ACCEPTED_AT_ONCE):
            if self._listener is None:
                return
            try:
                sock, _address = self._listener.accept()
            except OSError:  # no more connections, or no descriptor left: try again next time
                return
            if len(self._pending) >= self._max_pending:
                self._drop(next(iter(self._pending)))
            nonce = self._network.nonce()
            authenticate, drop = functools.partial(self._authenticate, nonce), functools.partial(self._drop, nonce)
            link = Connection(sock, self._selector, authenticate, drop)
            self._pending[nonce] = (self._network.clock(), link)
            link.send(plain({"type": "hello", "nonce": nonce}))

    def _drop(self, head_nonce: str, _why: str = "") -> None:
        if head_nonce in self._pending:
            self._pending.pop(head_nonce)[1].close()

    def _close_expired(self, now: float) -> None:
        for head_nonce, (since, _link) in list(self._pending.items()):
            if now - since < HANDSHAKE_S:
                return  # they are in order of arrival
            self._drop(head_nonce)

    def _authenticate(self, head_nonce: str, line: bytes) -> None:
        link = self._pending[head_nonce][1]
        message = parse(line)
        rank, nonce, stop = message.get("rank"), str(message.get("nonce")), str(message.get("stop") or "")
        if not isinstance(rank, int) or not 0 < rank < len(self.coordinator.nodes):
            rank = -1
        kind = PROBE if message.get("type") == PROBE else JOIN
        authentic = is_proof(message.get("mac"), self._key, kind, self._run, rank, head_nonce, nonce, stop)
        session = Session(self._key, self._run, rank, (head_nonce, nonce), FROM_HEAD)
        welcome = plain({"type": "welcome", "mac": proof(session.key, "welcome")})
        if authentic and kind == PROBE and rank in self._members:
            link.send(welcome)
            self._drop(head_nonce)
            self.coordinator.on_heartbeat(rank, self._network.clock())
        elif authentic and kind == JOIN and stop:  # it only joins to report a stop request
            link.send(welcome)
            self._drop(head_nonce)
            self.coordinator.on_stop_request(stop, self._stop_grace)
        elif authentic and kind == JOIN and self.coordinator.on_join(rank, self._network.clock()):
            del self._pending[head_nonce]
            self._members[rank] = (link, session)
            link.lines.limit = AUTHENTICATED_BYTES
            link.listen_to(functools.partial(self._receive, rank), lambda why: self._closed.append((rank, why)))
            link.send(welcome)
        else:
            link.send(plain({"type": "refused"}))
            raise Forged("it did not prove the run's key, or may not join any more")
        self._deliver_orders()

    def _receive(self, number: int, line: bytes) -> None:
        message = self._members[number][1].open(line)
        now = self._network.clock()
        self.coordinator.on_heartbeat(number, now)
        kind, report = message.get("type"), message.get("report")
        if kind == "beat":
            self._signs.note(number, message.get("sign"), message.get("stalled"), now)
            self._heard[number] = message.get("sent")
            self._send(number, {"type": "beat"})
        elif kind == "look":
            self._hang_watch.note(number, NodeLook.from_dict(message.get("look")))
        elif kind == "running":
            self.coordinator.on_start(number)
        elif kind == "failed" and isinstance(report, dict):
            self.coordinator.on_failure(number, report, now)
        elif kind == "drained" and isinstance(report, dict):
            self._signs.note_drained(number)
            self.coordinator.on_drained(number, report, now)
        elif kind == "request_stop":
            self.coordinator.on_stop_request(str(message.get("why")), float(message.get("grace") or 0))
        elif kind == "bye":
            self._await_exit(number, self._members.pop(number)[0], now)
            if self.coordinator.phase != OVER:
                self.coordinator.on_loss(number, "its runner left")
        self._deliver_orders()

    def _await_exit(self, number: int, link: Connection, now: float) -> None:
        """Keep the connection of a runner that has said goodbye: the kernel closes it when the process has ended."""
        self._leavers[number], self._last_bye = link, now
        link.listen_to(lambda _line: None, functools.partial(self._note_exit, number))

    def _note_exit(self, number: int, _why: str) -> None:
        self._leavers.pop(number, None)
        self._signs.note_exit(number)

    def _deliver_orders(self) -> None:
        self._deliver(self.coordinator.take_orders())

    def _deliver(self, orders: Iterable[tuple[int, dict[str, Any]]]) -> None:
        for number, order in orders:
            if order["type"] == "go":
                self._next_port.begin(int(order["attempt"]))
            if number == 0:
                self.orders.append(order)
            elif number in self._members:
                self._send(number, order)

    def _send(self, number: int, message: dict[str, Any]) -> None:
        """Send a line that says what the head has heard last: a member that reads it late knows how old it is."""
        link, session = self._members[number]
        link.send(session.seal({**message, "heard": self._heard.get(number)}))
