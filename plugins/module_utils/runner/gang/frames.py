# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines between the runners of a run: who speaks proves the run's key, and no line is forged or replayed.

Handshake: head ``hello``, member ``join`` with its proof, head ``welcome`` with its own (or ``refused``). From then on
each line is ``<HMAC-SHA256, hex> <JSON>`` under a key of this connection; the HMAC covers direction and number.
"""

from __future__ import annotations

import hmac
import json
import secrets
from typing import Any

# The longest line, with its end, from one who has not proven the key, and from one who has.
UNPROVEN_BYTES = 512
PROVEN_BYTES = 4096
NONCE_BYTES = 16
FROM_HEAD, FROM_MEMBER = b"head", b"member"


class Forged(Exception):
    """A line that nobody of this run sends."""


def new_nonce() -> str:
    """Return a random number for one connection, in hex."""
    return secrets.token_hex(NONCE_BYTES)


def proof(key: bytes, *parts: object) -> str:
    """Return the HMAC-SHA256 over the parts; each goes in with its length, so that no other parts give the same."""
    texts = [_bytes(part) for part in parts]
    return hmac.digest(key, b"".join([b"%d:%s" % (len(text), text) for text in texts]), "sha256").hex()


def is_proof(given: object, key: bytes, *parts: object) -> bool:
    """Return whether it is the HMAC over the parts, in a time that tells nothing of it."""
    return hmac.compare_digest(_bytes(given), proof(key, *parts).encode())


def _bytes(value: object) -> bytes:
    # JSON has halves of characters too.
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def short(text: str, limit: int) -> str:
    """Return the beginning of a text, so much of it that its JSON has at most `limit` bytes."""
    while (size := len(json.dumps(text))) > limit:
        text = text[: min(len(text) - 1, len(text) * limit // size)]
    return text


def plain(message: dict[str, Any]) -> bytes:
    """Return a line of the handshake."""
    return json.dumps(message).encode() + b"\n"


def parse(line: bytes) -> dict[str, Any]:
    """Read the JSON object of a line; raise Forged when it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Forged("no JSON") from error
    if not isinstance(message, dict):
        raise Forged("no JSON object")
    return message


class Lines:
    """Cuts what arrives into lines of at most `limit` bytes."""

    def __init__(self) -> None:
        self.limit = UNPROVEN_BYTES
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take what has arrived."""
        self._rest += data

    def take(self) -> bytes | None:
        """Return the next whole line without its end, None when there is none yet; raise Forged when it is too long."""
        line, end, rest = self._rest.partition(b"\n")
        if len(line) >= self.limit:
            raise Forged("a line that is too long")
        if not end:
            return None
        self._rest = rest
        return line


class Session:
    """One proven connection: lines out are sealed, lines in are opened in the order in which they were sealed."""

    def __init__(self, key: bytes, run: str, rank: int, nonces: tuple[str, str], mine: bytes) -> None:
        """Derive the connection's key; nonces are the head's and the member's, `mine` says which of them this is."""
        self.key = bytes.fromhex(proof(key, "session", run, rank, *nonces))
        self._mine, self._theirs = (mine, FROM_MEMBER if mine == FROM_HEAD else FROM_HEAD)
        self._sent = self._received = 0

    def seal(self, message: dict[str, Any]) -> bytes:
        """Return the line of a message."""
        body = json.dumps(message).encode()
        mac = self._mac(self._mine, self._sent, body)
        self._sent += 1
        return b"%s %s\n" % (mac, body)

    def open(self, line: bytes) -> dict[str, Any]:
        """Return the message of a line; raise Forged when it is not the other side's next one."""
        mac, _blank, body = line.partition(b" ")
        if not hmac.compare_digest(mac, self._mac(self._theirs, self._received, body)):
            raise Forged("a line with another key, or not the next one")
        self._received += 1
        return parse(body)

    def _mac(self, who: bytes, number: int, body: bytes) -> bytes:
        """Return the HMAC of a line; only its last part may have a blank, so no other parts give the same."""
        return hmac.digest(self.key, b"%s %d %s" % (who, number, body), "sha256").hex().encode()
