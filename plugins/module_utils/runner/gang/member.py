# SPDX-License-Identifier: GPL-3.0-or-later
"""A member's side of the gang: it connects to the head, both prove the key, and it passes on the head's orders."""

from __future__ import annotations

import selectors
from typing import Any

from ..._records.gang import NodeSign
from ..._records.hang import NodeLook
from ..._records.job import Job
from .base import GOODBYE_S, STALLED_S, Gang, end_order, heartbeat_s, is_pause, launch_identity
from .frames import AUTHENTICATED_BYTES, JOIN, Credentials, Forged, Session, is_proof, parse, request, short
from .link import Connection
from .network import GangNetwork
from .probe import HeadProbes

# Before the start, a member that hears nothing from its head for so long ends itself.
HEAD_TIMEOUT_S = 60.0
# Seconds between two attempts to connect: at first, as the head starts at the same moment, and at most.
MIN_RETRY_S, MAX_RETRY_S = 0.2, 0.5
# Short, because the loop that waits here also watches for stop requests.
CONNECT_TIMEOUT_S = 2.0
# A member that is asked to stop before it is connected tries this long to pass the request on.
STOP_REQUEST_S = 3.0
# Longest reason of a stop request in a join, in bytes of JSON: unauthenticated lines are short.
MAX_STOP_BYTES = 120


class Member(Gang):
    """The runner of a node that is not the head."""

    def __init__(self, job: Job, key: bytes, selector: selectors.BaseSelector, network: GangNetwork) -> None:
        super().__init__()
        self._network = network
        now = network.clock()
        self._job = job
        self._credentials: Credentials = (key, launch_identity(job), job.node_rank)
        self._selector = selector
        host, port = self._endpoint = (job.rendezvous.address, job.gang.port)
        self._address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._link_heard = self._last_tick = self._joined_at = now
        self._silence_start = now  # no silence counts from before this
        self._told_at: float | None = None  # when it was told to start, while no rank runs yet
        self._next_try = now
        self._retry_s = MIN_RETRY_S
        self._beat_s = heartbeat_s(job.nnodes, job.gang.lost_after)
        self._next_beat = now
        self._link: Connection | None = None
        self._probes = HeadProbes(selector, network, self._credentials, job.gang.lost_after)
        self._session: Session | None = None
        self._authenticated = False
        self._started = False
        self._over = False
        self._loss: str | None = None
        self._stop_request: dict[str, Any] | None = None
        self._leaving_since: float | None = None
        self._stop_request_until = 0.0
        self._drained_report: dict[str, Any] | None = None
        self._why = "not tried yet"
        self._sent: NodeSign | None = None

    # -- the runner's side ---------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        if self._over or self._loss:
            return
        pause, self._last_tick = now - self._last_tick, now
        if self._link is None:
            # No pause: attempts that are slow, as where a name server does not answer, would put the end off forever.
            self._last_tick += self._connect(now)
        if is_pause(pause, self._job.gang.lost_after):
            # This node was silent, not the head; but a spare may take its rank soon (RestartPolicy.earliest_restart).
            self._silence_start = now + self._beat_s - self._job.gang.lost_after if self._started else now
        # After a pause there is time to hear the head again, but not to start: the node may have been given up.
        is_starting = self._told_at is not None and self.may_start
        silence = now - (self._last_heard if is_starting else max(self._last_heard, self._silence_start))
        if not self._authenticated:
            if self._stop_request is not None and now >= self._stop_request_until:
                self.end_unanswered(self._stop_request["why"])
            elif silence > HEAD_TIMEOUT_S:
                self._lose(f"could not reach the head at {self._address} for {HEAD_TIMEOUT_S:.0f} s: {self._why}")
            return
        if self._job.gang.lost_after and self._link is not None:
            link_silence = now - max(self._link_heard, self._silence_start)
            self._probes.tick(self._link.sock, now, now - self._last_heard, link_silence)
        timeout = self._job.gang.lost_after if self._started else HEAD_TIMEOUT_S
        if timeout and silence > timeout:
            self._lose(f"no sign of life from the head's runner for {timeout:.0f} s")
        elif now >= self._next_beat or self._has_news():
            self._next_beat = now + self._beat_s
            self._send_sign()

    @property
    def _last_heard(self) -> float:
        """When the node sent what the head has answered last: the head has not given it up before that is too old."""
        return max(self._link_heard, self._probes.heard)

    def _has_news(self) -> bool:
        """Return whether the head should know at once what this node knows of the fabric."""
        return self.sign is not None and self.sign.transport != (self._sent and self._sent.transport)

    def _send_sign(self) -> None:
        stalled = {"stalled": self.stalled_s} if self.stalled_s >= STALLED_S else {}
        sign = {} if self.sign is None else {"sign": self.sign.to_short_dict()}
        self._send({"type": "beat", "sent": self._network.clock(), **stalled, **sign})
        self._sent = self.sign

    @property
    def may_start(self) -> bool:
        return self._told_at is None or self._link_heard >= self._told_at

    def report_running(self) -> None:
        self._told_at = None
        self._send({"type": "running"})

    def report_failure(self, report: dict[str, Any]) -> None:
        self._send({"type": "failed", "report": report})

    def report_drained(self, report: dict[str, Any]) -> None:
        self._drained_report, self._told_at = report, None
        self._send_sign()  # the last one: it says how far this node came
        self._send({"type": "drained", "report": report})
        if self._loss:
            self._end_alone()

    def report_look(self, look: NodeLook) -> None:
        self._send({"type": "look", "look": look.to_short_dict()})

    def request_stop(self, why: str, grace: float) -> None:
        self._stop_request = {"type": "request_stop", "why": why, "grace": grace}
        self._stop_request_until = self._network.clock() + STOP_REQUEST_S
        if self._authenticated:
            self._send_stop_request()

    def _send_stop_request(self) -> None:
        if self._stop_request is not None:
            if not self._started:  # the head is not waiting for this node
                self.end_unanswered(self._stop_request["why"])
            self._send(self._stop_request)

    def end_unanswered(self, why: str) -> None:
        self._end_unheard("stopped", why)

    def waiting_reason(self) -> str:
        if not self._authenticated:
            return f"connecting to the head at {self._address}"
        return (
            "a spare, waiting to take the rank of a lost node"
            if self._job.is_spare
            else "joined; the head is waiting for the other nodes"
        )

    def leave(self) -> bool:
        if self._link is not None:
            now = self._network.clock()
            if self._leaving_since is None:
                self._leaving_since = now
                self._send({"type": "bye"})
            return self._link is None or not self._link.unsent or now - self._leaving_since > GOODBYE_S
        return True

    def close(self) -> None:
        self._probes.close()
        if self._link is not None:
            self._link.close()
            self._link = None

    # -- the connection ------------------------------------------------------------------------------------------

    def _connect(self, now: float) -> float:
        """Try to connect if it is time to; return how many seconds that took."""
        if now < self._next_try:
            return 0.0
        began = self._network.clock()
        self._next_try = now + self._retry_s
        self._retry_s = min(MAX_RETRY_S, 1.5 * self._retry_s)
        try:
            sock = self._network.connect(self._endpoint, CONNECT_TIMEOUT_S)
        except OSError as error:
            self._why = error.strerror or str(error)
        else:
            self._link = Connection(sock, self._selector, self._receive, self._on_close)
        return self._network.clock() - began

    def _receive(self, line: bytes) -> None:
        if self._session is None:
            self._join(parse(line))
        elif not self._authenticated:
            self._welcome(parse(line), self._session)
        else:
            message = self._session.open(line)
            self._link_heard = max(self._link_heard, float(message.get("heard") or 0.0))
            if message.get("type") == "end":
                self._end(message)
            elif message.get("type") in ("go", "stop", "look", "hang") and not self._over:
                self.orders.append(message)
                if message["type"] == "go":
                    self._started, self._drained_report = True, None
                    if self._job.gang.lost_after:  # a head that has given up this node does not answer
                        self._told_at = self._silence_start = self._network.clock()
                        self._send_sign()

    def _join(self, hello: dict[str, Any]) -> None:
        nonces = str(hello.get("nonce")), self._network.nonce()
        # A stop request travels with the join, so that the head does not start the run first.
        stop = short(str(self._stop_request["why"]), MAX_STOP_BYTES) if self._stop_request is not None else ""
        join, self._session = request(JOIN, self._credentials, nonces, stop)
        if self._link is not None:
            self._link.send(join)
            self._joined_at = self._network.clock()

    def _welcome(self, message: dict[str, Any], session: Session) -> None:
        if message.get("type") == "refused":
            # Unauthenticated: anyone at the head's address can turn away a member before the start, but not later.
            reason = "it belongs to another launch, or is no longer waiting"
            self._lose(f"the head at {self._address} refused the connection: {reason}")
            return
        if not is_proof(message.get("mac"), session.key, "welcome"):
            raise Forged("it is not the head of this run")
        self._authenticated = True
        self._link_heard = self._joined_at
        if self._link is not None:
            self._link.lines.limit = AUTHENTICATED_BYTES
        self._send_stop_request()

    def _on_close(self, why: str) -> None:
        self._link = None
        if self._over:
            return
        if self._authenticated:
            self._lose(f"the head's runner is gone: {why}")
            return
        self._session, self._why = None, why

    def _send(self, message: dict[str, Any]) -> None:
        if self._link is not None and self._session is not None and self._authenticated:
            self._link.send(self._session.seal(message))

    # -- the end -------------------------------------------------------------------------------------------------

    def _end(self, order: dict[str, Any]) -> None:
        if not self._over:
            self._over = True
            self.orders.append(order)

    def _lose(self, why: str) -> None:
        """Handle the loss of the head: continue without it where the policy says so, otherwise end."""
        if self._loss or self._over:
            return
        self._loss = why
        self.close()
        if not self._started or self._drained_report is not None:
            self._end_alone()
        elif self._job.gang.lost_after:
            self.orders.append({"type": "stop", "why": why, "grace": self._job.abort_grace})

    def _end_alone(self) -> None:
        why = str(self._loss)
        if self._started and not self._job.gang.lost_after:  # how this node's part ended says nothing about the run
            self._end(end_order(None, f"{why}; it continued on its own"))
        else:
            self._end_unheard("lost" if self._started else "failed", why)

    def _end_unheard(self, verdict: str, why: str) -> None:
        """End without the head's last word; after a success, and as an unused spare, nothing is known about the run."""
        has_succeeded = (self._drained_report or {}).get("phase") == "succeeded"
        is_unused = self._job.is_spare and not self._started
        self._end(end_order(None if has_succeeded or is_unused else verdict, why))
