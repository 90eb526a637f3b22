# SPDX-License-Identifier: GPL-3.0-or-later
"""How much each TCP socket has received and sent, from the kernel (sock_diag(7)).

/proc/<pid>/io counts what `read` and `write` carry, but not `recv` and `send`.
"""

from __future__ import annotations

import contextlib
import socket
import struct

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, DUMP = 4, 20, 0x301
INET_DIAG_INFO = 2
# struct inet_diag_msg with its inode at the end; in struct tcp_info, tcpi_bytes_acked and tcpi_bytes_received.
_HEADER, _MESSAGE, _INODE, _BYTES = struct.Struct("=IHHII"), 72, 68, struct.Struct("=120xQQ")
BUFFER, WAIT_S = 1 << 16, 2.0


def bytes_by_inode() -> dict[int, int]:
    """Return the bytes of each TCP socket here by its inode; none where the kernel does not tell."""
    sizes: dict[int, int] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        # A kernel without it, or a sandbox that allows it not.
        with contextlib.suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as link:
            link.settimeout(WAIT_S)
            # Of all states, with tcp_info.
            request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0xFFFFFFFF)
            link.send(_HEADER.pack(_HEADER.size + len(request), SOCK_DIAG_BY_FAMILY, DUMP, 1, 0) + request)
            is_over = False
            while not is_over:
                is_over = parse(link.recv(BUFFER), sizes)
    return sizes


def parse(data: bytes, sizes: dict[int, int]) -> bool:
    """Add what an answer of the kernel says of sockets; return whether it was the last one."""
    while len(data) >= _HEADER.size:
        length, kind = _HEADER.unpack_from(data)[:2]
        if kind != SOCK_DIAG_BY_FAMILY or not _HEADER.size + _MESSAGE <= length <= len(data):
            return True
        message, data = data[_HEADER.size : length], data[-(-length // 4) * 4 :]
        inode = struct.unpack_from("=I", message, _INODE)[0]
        attributes = message[_MESSAGE:]
        while len(attributes) >= 4:
            size, name = struct.unpack_from("=HH", attributes)
            if name == INET_DIAG_INFO and 4 + _BYTES.size <= size <= len(attributes):
                sizes[inode] = sum(_BYTES.unpack_from(attributes, 4))
            attributes = attributes[max(4, -(-size // 4) * 4) :]
    return False
