# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A member's side of the gang: it finds the head, proves the key both ways, and hands the head's orders on."""

from __future__ import annotations

import selectors
import socket
import time
from typing import Any

from ..._records.job import Job
from .base import Gang, heartbeat_s
from .frames import FROM_MEMBER, PROVEN_BYTES, Forged, Session, is_proof, new_nonce, parse, plain, proof, short
from .head import GOOD_BYE_S, run_mark
from .link import Link

# Before the start a member that hears nothing of its head for so long ends by itself.
HEAD_S = 60.0
# The head begins at the same moment; then less and less often.
FIRST_RETRY_S, RETRY_S = 0.2, 0.5
# In the loop that a stop is heard in, so not long.
CONNECT_S = 2.0
# Who is asked to stop before it has found the head still tries so long to tell it.
ASK_S = 3.0
# Of its reason, in bytes of JSON: a line of one that is not proven yet is short.
MOST_ASKED = 120


class Member(Gang):
    """One node that is not the head."""

    def __init__(self, job: Job, key: bytes, selector: selectors.BaseSelector) -> None:
        super().__init__()
        now = time.monotonic()
        self._job = job
        self._key = key
        self._selector = selector
        self._place = (job.rendezvous.address, job.gang.port)
        self._heard = now
        self._next_try = now
        self._retry_s = FIRST_RETRY_S
        self._beat_s = heartbeat_s(job.nnodes, job.gang.lost_after)
        self._next_beat = now
        self._link: Link | None = None
        self._session: Session | None = None
        self._nonces = ("", "")
        self._proven = False
        self._started = False
        self._over = False
        self._loss: str | None = None
        self._stop_request: dict[str, Any] | None = None
        self._leaving_since: float | None = None
        self._stop_request_until = 0.0
        self._drained_report: dict[str, Any] | None = None
        self._why = "not tried yet"

    # -- the runner's side ---------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        if self._over or self._loss:
            return
        if self._link is None:
            self._connect(now)
        silent = now - self._heard
        if not self._proven:
            if self._stop_request is not None and now >= self._stop_request_until:
                self._end(
                    {"type": "end", "verdict": "stopped", "why": self._stop_request["why"], "node": None, "rank": None}
                )
            elif silent > HEAD_S:
                self._lose(f"the head was not reached at {self._where()} for {HEAD_S:.0f} s: {self._why}")
            return
        patience = self._job.gang.lost_after if self._started else HEAD_S
        if patience and silent > patience:
            self._lose(f"the head's runner was not heard for {patience:.0f} s")
        elif now >= self._next_beat:
            self._next_beat = now + self._beat_s
            self._send({"type": "beat"})

    def report_running(self) -> None:
        self._send({"type": "running"})

    def report_failure(self, report: dict[str, Any]) -> None:
        self._send({"type": "failed", "report": report})

    def report_drained(self, report: dict[str, Any]) -> None:
        self._drained_report = report
        self._send({"type": "drained", "report": report})
        if self._loss:
            self._end_alone()

    def request_stop(self, why: str, grace: float) -> None:
        self._stop_request = {"type": "request_stop", "why": why, "grace": grace}
        self._stop_request_until = time.monotonic() + ASK_S
        if self._proven:
            self._send_stop_request()

    def _send_stop_request(self) -> None:
        if self._stop_request is not None:
            if not self._started:  # nobody waits for it
                self._end(
                    {"type": "end", "verdict": "stopped", "why": self._stop_request["why"], "node": None, "rank": None}
                )
            self._send(self._stop_request)

    def waiting_reason(self) -> str:
        if not self._proven:
            return f"reaching the head at {self._where()}"
        return (
            "a spare: takes the ranks of a lost node" if self._job.is_spare else "joined; the head waits for the others"
        )

    def leave(self) -> bool:
        if self._link is not None:
            now = time.monotonic()
            if self._leaving_since is None:
                self._leaving_since = now
                self._send({"type": "bye"})
            return self._link is None or not self._link.unsent or now - self._leaving_since > GOOD_BYE_S
        return True

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    # -- the connection ------------------------------------------------------------------------------------------

    def _where(self) -> str:
        host, port = self._place
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _connect(self, now: float) -> None:
        if now < self._next_try:
            return
        self._next_try = now + self._retry_s
        self._retry_s = min(RETRY_S, 1.5 * self._retry_s)
        try:
            sock = socket.create_connection(self._place, timeout=CONNECT_S)
        except OSError as error:
            self._why = error.strerror or str(error)
            return
        self._link = Link(sock, self._selector, self._hear, self._cut_off)

    def _hear(self, line: bytes) -> None:
        if self._session is None:
            self._join(parse(line))
        elif not self._proven:
            self._welcome(parse(line), self._session)
        else:
            message = self._session.open(line)
            self._heard = time.monotonic()
            if message.get("type") == "end":
                self._end(message)
            elif message.get("type") in ("go", "stop") and not self._over:
                if message["type"] == "go":
                    self._started, self._drained_report = True, None
                self.orders.append(message)

    def _join(self, hello: dict[str, Any]) -> None:
        rank, run = self._job.node_rank, run_mark(self._job)
        self._nonces = (str(hello.get("nonce")), new_nonce())
        # Who was asked to stop by now says so before it could be counted: nobody starts then.
        stop = short(str(self._stop_request["why"]), MOST_ASKED) if self._stop_request is not None else ""
        mac = proof(self._key, "join", run, rank, *self._nonces, stop)
        self._session = Session(self._key, run, rank, self._nonces, FROM_MEMBER)
        if self._link is not None:
            join = {"type": "join", "rank": rank, "nonce": self._nonces[1], "stop": stop, "mac": mac}
            self._link.send(plain(join))

    def _welcome(self, message: dict[str, Any], session: Session) -> None:
        if message.get("type") == "refused":
            # Not proven by anybody: whoever holds the head's address can say so to one that has not begun.
            self._lose(f"the head at {self._where()} refused: it is another launch's, or does not wait any more")
            return
        if not is_proof(message.get("mac"), session.key, "welcome"):
            raise Forged("not the head of this run")
        self._proven = True
        self._heard = time.monotonic()
        if self._link is not None:
            self._link.lines.limit = PROVEN_BYTES
        self._send_stop_request()

    def _cut_off(self, why: str) -> None:
        self._link = None
        if self._over:
            return
        if self._proven:
            self._lose(f"the head's runner is gone: {why}")
            return
        self._session, self._why = None, why

    def _send(self, message: dict[str, Any]) -> None:
        if self._link is not None and self._session is not None and self._proven:
            self._link.send(self._session.seal(message))

    # -- the end -------------------------------------------------------------------------------------------------

    def _end(self, order: dict[str, Any]) -> None:
        if not self._over:
            self._over = True
            self.orders.append(order)

    def _lose(self, why: str) -> None:
        """Go on without the head where the policy says so, else end."""
        if self._loss or self._over:
            return
        self._loss = why
        if self._link is not None:
            self._link.close()
            self._link = None
        if not self._started or self._drained_report is not None:
            self._end_alone()
        elif self._job.gang.lost_after:
            self.orders.append({"type": "stop", "why": why, "grace": self._job.abort_grace})

    def _end_alone(self) -> None:
        why = str(self._loss)
        if self._job.gang.lost_after or not self._started:
            verdict = "lost" if self._started else "failed"
            self._end({"type": "end", "verdict": verdict, "why": why, "node": None, "rank": None})
        else:  # how its own part ended says nothing of the run
            self._end({"type": "end", "verdict": None, "why": f"{why}; it went on", "node": None, "rank": None})
