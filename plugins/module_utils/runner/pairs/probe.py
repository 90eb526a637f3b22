# SPDX-License-Identifier: GPL-3.0-or-later
"""TCP between two nodes: whether each reaches the other, whether large messages pass, and what TCP says of the path.

Each connects to the other, as the way in may be closed where the way out is open. Over the first connection both ends
send in turn, at most SENT_BYTES in SENT_S. A path that drops what is larger than its MTU passes the handshake, but no
full segment.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
import time

from ..._records.frozen import frozen
from ..._records.pairs import STALLED, UNREACHABLE

CONNECT_S, SILENT_S = 5.0, 5.0
# The part of a pair's time limit in which a connection has to be made.
PATIENCE = 0.4
SENT_S, SENT_BYTES, FRAME = 0.5, 32 << 20, 64 << 10
MORE, LAST, RECEIVED = b"m", b"l", b"r"
SIOCGIFADDR = 0x8915
REPORT = struct.Struct("!QQ")
# struct tcp_info of linux/tcp.h: tcpi_snd_mss, tcpi_total_retrans and tcpi_data_segs_out (since Linux 4.6).
TCP_INFO_BYTES, SEGMENT_AT, RESENT_AT, SEGMENTS_AT = 192, 16, 100, 156


class ProbeError(Exception):
    """What went wrong, the outcome that it means, and whether it was a connection to the first node or to the other."""

    def __init__(self, outcome: str, why: str, is_towards_first: bool | None = None) -> None:
        super().__init__(why)
        self.outcome, self.is_towards_first = outcome, is_towards_first


@frozen
class Probe:
    """What TCP says of a path: the bytes of a segment, and the part of its segments that the worse end sent again."""

    segment: int
    resent: float | None


def local_address(interface: str, peer: str) -> str:
    """Return the address of an interface, or if it has none, the one from which this node reaches another node.

    The head may have its own name as an address that leads nowhere else (127.0.1.1). Nothing is sent.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, contextlib.suppress(OSError):
        answer = fcntl.ioctl(sock, SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        return socket.inet_ntoa(answer[20:24])
    family, kind, protocol, _name, address = socket.getaddrinfo(peer, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as sock:
        sock.connect(address)
        return str(sock.getsockname()[0])


def listen(address: str, limit_s: float) -> socket.socket:
    """Return a socket of this address that waits for the other node, so that limit_s suffices for two in turn."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.create_server((address, 0), family=family, backlog=1)
    sock.settimeout(min(2 * CONNECT_S, limit_s * PATIENCE))
    return sock


def measure(listener: socket.socket, address: str, port: int, is_first: bool) -> Probe:
    """Measure with the node that has this address: the second one connects, and then the first; raise ProbeError."""
    with listener:
        with _accept(listener, is_first) if is_first else _connect(listener, address, port, not is_first) as sock:
            known = _measure(sock, is_first)
        with _connect(listener, address, port, not is_first) if is_first else _accept(listener, is_first) as sock:
            _greet(sock)
    return known


def _accept(listener: socket.socket, is_first: bool) -> socket.socket:
    try:
        return listener.accept()[0]
    except OSError as error:
        raise ProbeError(UNREACHABLE, f"no connection came to {_name(listener)} ({error})", is_first) from error


def _connect(listener: socket.socket, address: str, port: int, is_towards_first: bool) -> socket.socket:
    try:
        return socket.create_connection((address, port), min(CONNECT_S, listener.gettimeout() or CONNECT_S))
    except OSError as error:
        raise ProbeError(UNREACHABLE, f"{address} port {port}: {error}", is_towards_first) from error


def _greet(sock: socket.socket) -> None:
    """Wait for a byte of the other node: the connection is made."""
    sock.settimeout(SILENT_S)
    try:
        sock.sendall(RECEIVED)
        _exactly(sock, len(RECEIVED))
    except OSError as error:
        raise ProbeError(STALLED, f"{_name(sock)}: {error or 'no answer'} after {SILENT_S:g} s") from error


def _measure(sock: socket.socket, is_first: bool) -> Probe:
    sock.settimeout(SILENT_S)
    try:
        for step in (_send, _receive) if is_first else (_receive, _send):
            step(sock)
        information = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES).ljust(TCP_INFO_BYTES, b"\0")
        segment, resent, sent = (
            struct.unpack_from("=I", information, place)[0] for place in (SEGMENT_AT, RESENT_AT, SEGMENTS_AT)
        )
        sock.sendall(REPORT.pack(resent, sent))
        others = REPORT.unpack(_exactly(sock, REPORT.size))
    except OSError as error:
        raise ProbeError(STALLED, f"{_name(sock)}: {error or 'no answer'} after {SILENT_S:g} s") from error
    parts = [again / total for again, total in ((resent, sent), others) if total]
    return Probe(segment, max(parts, default=None))


def _send(sock: socket.socket) -> None:
    """Send frames, the first byte of which says whether it is the last one, and wait until they have come."""
    deadline = time.monotonic() + SENT_S
    payload = bytes(FRAME - 1)
    for number in range(1, SENT_BYTES // FRAME + 1):
        is_last = number == SENT_BYTES // FRAME or time.monotonic() > deadline
        sock.sendall((LAST if is_last else MORE) + payload)
        if is_last:
            break
    _exactly(sock, len(RECEIVED))


def _receive(sock: socket.socket) -> None:
    while not _exactly(sock, FRAME).startswith(LAST):
        pass
    sock.sendall(RECEIVED)


def _exactly(sock: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = sock.recv(min(FRAME, length - len(parts)))
        if not part:
            raise OSError("the other node closed the connection")
        parts += part
    return bytes(parts)


def _name(sock: socket.socket) -> str:
    return "{} port {}".format(*sock.getsockname()[:2])
