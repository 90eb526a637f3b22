# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines between the runners of a run: each side proves the run's key, and no line can be forged or replayed.

Handshake: head ``hello``, member ``join`` with its proof, head ``welcome`` with its own (or ``refused``). With
``probe`` for ``join`` a member asks whether the head still holds it, and the connection ends there. After a join, each
line is ``<HMAC-SHA256, hex> <JSON>`` under a key of this connection; the HMAC covers direction and number.
"""

from __future__ import annotations

import hmac
import json
import secrets
from typing import Any

from ..._records.known import parse_json

# The longest line, newline included, before and after the other side has proven the key.
UNAUTHENTICATED_BYTES = 512
AUTHENTICATED_BYTES = 4096
NONCE_BYTES = 16
FROM_HEAD, FROM_MEMBER = b"head", b"member"
JOIN, PROBE = "join", "probe"
# What a member proves: the run's key, the launch and its node rank.
Credentials = tuple[bytes, str, int]


class Forged(Exception):
    """A line that no runner of this run sent."""


def new_nonce() -> str:
    """Return a random number for one connection, in hex."""
    return secrets.token_hex(NONCE_BYTES)


def proof(key: bytes, *parts: object) -> str:
    """Return the HMAC-SHA256 over the parts, each prefixed with its length, so that no other parts give the same."""
    texts = [_bytes(part) for part in parts]
    return hmac.digest(key, b"".join([b"%d:%s" % (len(text), text) for text in texts]), "sha256").hex()


def is_proof(mac: object, key: bytes, *parts: object) -> bool:
    """Return whether mac is the HMAC over the parts; compared in constant time."""
    return hmac.compare_digest(_bytes(mac), proof(key, *parts).encode())


def _bytes(value: object) -> bytes:
    # JSON strings may hold lone surrogates.
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def short(text: str, limit: int) -> str:
    """Return the start of a text, cut so that its JSON has at most `limit` bytes."""
    while (size := len(json.dumps(text))) > limit:
        text = text[: min(len(text) - 1, len(text) * limit // size)]
    return text


def plain(message: dict[str, Any]) -> bytes:
    """Return a line of the handshake."""
    return json.dumps(message).encode() + b"\n"


def parse(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; raise Forged where it is not one."""
    message = parse_json(line)
    if not isinstance(message, dict):
        raise Forged("not a JSON object")
    return message


class Lines:
    """Splits incoming data into lines of at most `limit` bytes."""

    def __init__(self) -> None:
        self.limit = UNAUTHENTICATED_BYTES
        self._rest = b""

    def feed(self, data: bytes) -> None:
        self._rest += data

    def take(self) -> bytes | None:
        """Return the next whole line without its newline, None if none is complete; raise Forged if it is too long."""
        line, end, rest = self._rest.partition(b"\n")
        if len(line) >= self.limit:
            raise Forged("the line is too long")
        if not end:
            return None
        self._rest = rest
        return line


class Session:
    """One authenticated connection: outgoing lines are sealed, incoming lines are opened in the order of sealing."""

    def __init__(self, key: bytes, run: str, rank: int, nonces: tuple[str, str], direction: bytes) -> None:
        """Derive the connection's key; nonces: the head's and the member's; direction: FROM_HEAD or FROM_MEMBER."""
        self.key = bytes.fromhex(proof(key, "session", run, rank, *nonces))
        self._outgoing = direction
        self._incoming = FROM_MEMBER if direction == FROM_HEAD else FROM_HEAD
        self._sent = self._received = 0

    def seal(self, message: dict[str, Any]) -> bytes:
        body = json.dumps(message).encode()
        mac = self._mac(self._outgoing, self._sent, body)
        self._sent += 1
        return b"%s %s\n" % (mac, body)

    def open(self, line: bytes) -> dict[str, Any]:
        """Return the message of a line; raise Forged if it is not the other side's next one."""
        mac, _blank, body = line.partition(b" ")
        if not hmac.compare_digest(mac, self._mac(self._incoming, self._received, body)):
            raise Forged("the line has another key, or is not the next one")
        self._received += 1
        return parse(body)

    def _mac(self, direction: bytes, number: int, body: bytes) -> bytes:
        """Return the HMAC of a line; only the last part may contain a blank, so no other parts give the same."""
        return hmac.digest(self.key, b"%s %d %s" % (direction, number, body), "sha256").hex().encode()


def request(kind: str, credentials: Credentials, nonces: tuple[str, str], stop: str = "") -> tuple[bytes, Session]:
    """Return a member's line of the handshake, JOIN or PROBE, and the session that it begins.

    nonces: the head's and the member's; stop: the reason of a stop request that travels with a join.
    """
    key, run, rank = credentials
    mac = proof(key, kind, run, rank, *nonces, stop)
    line = plain({"type": kind, "rank": rank, "nonce": nonces[1], "stop": stop, "mac": mac})
    return line, Session(key, run, rank, nonces, FROM_MEMBER)
