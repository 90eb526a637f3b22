# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's list of IPv4 addresses by interface (rtnetlink(7)); no file has it, and no privilege is needed."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

TIMEOUT_S = 2.0
BUFFER = 65536
# linux/netlink.h, linux/rtnetlink.h, linux/if_addr.h
NLMSG_ERROR, NLMSG_DONE, RTM_NEWADDR, RTM_GETADDR = 2, 3, 20, 22
NLM_F_REQUEST, NLM_F_DUMP_INTR, NLM_F_DUMP = 0x1, 0x10, 0x300
IFA_LOCAL = 2
HEADER, ADDRESS, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBBBI"), struct.Struct("=HH")


def parse_messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the type, the flags and the body of each message of a datagram (netlink(7))."""
    start = 0
    while start + HEADER.size <= len(data):
        length, kind, flags = HEADER.unpack_from(data, start)[:3]
        if length < HEADER.size:
            return
        yield kind, flags, data[start + HEADER.size : start + length]
        start += _aligned(length)


def parse_address(body: bytes) -> tuple[int, str] | None:
    """Return the index of the interface and the address of an RTM_NEWADDR of IPv4."""
    if len(body) < ADDRESS.size:
        return None
    index, start = ADDRESS.unpack_from(body)[4], ADDRESS.size
    while start + ATTRIBUTE.size <= len(body):
        length, kind = ATTRIBUTE.unpack_from(body, start)
        value = body[start + ATTRIBUTE.size : start + length]
        if kind == IFA_LOCAL and len(value) == 4:
            return index, socket.inet_ntoa(value)
        start += max(_aligned(length), ATTRIBUTE.size)
    return None


def read_ipv4_interfaces() -> dict[str, str] | None:
    """Return the interface of each IPv4 address of this machine; None where the kernel does not answer."""
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
            link.settimeout(TIMEOUT_S)
            return ask_interfaces(link)
    except OSError:
        return None


def ask_interfaces(link: socket.socket) -> dict[str, str] | None:
    """Return the interface of each IPv4 address; None where the kernel refuses. Raises OSError.

    A list during which an address came or went may lack others, and is asked for once more.
    """
    request = ADDRESS.pack(socket.AF_INET, 0, 0, 0, 0)
    header = HEADER.pack(HEADER.size + len(request), RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, 1, 0)
    interfaces: dict[str, str] | None = None
    for _time in range(2):
        link.send(header + request)
        interfaces, is_interrupted = _receive_interfaces(link)
        if not is_interrupted:
            break
    return interfaces


def _receive_interfaces(link: socket.socket) -> tuple[dict[str, str] | None, bool]:
    """Return the interface of each address of one list, and whether that was interrupted by a change."""
    interfaces: dict[str, str] = {}
    is_interrupted = False
    while True:
        for kind, flags, body in parse_messages(link.recv(BUFFER)):
            if kind == NLMSG_ERROR:
                return None, False
            is_interrupted = is_interrupted or bool(flags & NLM_F_DUMP_INTR)
            if kind == NLMSG_DONE:
                return interfaces, is_interrupted
            address = parse_address(body) if kind == RTM_NEWADDR else None
            if address is not None:
                with contextlib.suppress(OSError):  # the interface has just vanished
                    interfaces.setdefault(address[1], socket.if_indextoname(address[0]))


def _aligned(length: int) -> int:
    return length + 3 & ~3
