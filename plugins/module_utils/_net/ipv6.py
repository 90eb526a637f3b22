# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's IPv6 addresses and routes, from the kernel's own tables (proc_pid_net(5), net/ipv6/route.c)."""

from __future__ import annotations

import socket

from .._records.node import Address, Route

ADDRESSES, ROUTES = "/proc/net/if_inet6", "/proc/net/ipv6_route"
# linux/route.h, of both families
RTF_UP, RTF_GATEWAY, RTF_REJECT = 0x1, 0x2, 0x200
# linux/if_addr.h: IFA_F_TEMPORARY, IFA_F_DADFAILED, IFA_F_DEPRECATED, IFA_F_TENTATIVE
PASSING = 0x01 | 0x08 | 0x20 | 0x40
# linux/ipv6_route.h: RTF_ANYCAST, RTF_CACHE, RTF_LOCAL
NO_NETWORK = RTF_REJECT | 0x00100000 | 0x01000000 | 0x80000000


def parse_ipv6_addresses(text: str) -> list[Address]:
    """Return the addresses in /proc/net/if_inet6 that stay: not those of the link alone, temporary or unconfirmed."""
    addresses = set()
    for line in text.splitlines():
        fields = line.split()
        try:
            packed, flags, interface = bytes.fromhex(fields[0]), int(fields[4], 16), fields[5]
        except (ValueError, IndexError):
            continue
        if len(packed) == 16 and not flags & PASSING and not is_link_local(packed):
            addresses.add((packed, interface))
    return [Address(socket.inet_ntop(socket.AF_INET6, packed), interface) for packed, interface in sorted(addresses)]


def parse_ipv6_routes(text: str) -> list[Route]:
    """Return the usable routes of /proc/net/ipv6_route that lead beyond a link's own addresses."""
    routes = []
    for line in text.splitlines():
        fields = line.split()
        try:
            packed, length, gateway = bytes.fromhex(fields[0]), int(fields[1], 16), bytes.fromhex(fields[4])
            metric, flags, interface = int(fields[5], 16), int(fields[8], 16), fields[9]
            destination = socket.inet_ntop(socket.AF_INET6, packed)
            via = socket.inet_ntop(socket.AF_INET6, gateway) if flags & RTF_GATEWAY else None
        except (ValueError, IndexError):
            continue
        multicast = packed[0] == 0xFF
        if flags & RTF_UP and not flags & NO_NETWORK and not multicast and not is_link_local(packed) and length <= 128:
            routes.append(Route(f"{destination}/{length}", interface, via, metric))
    return routes


def is_link_local(packed: bytes) -> bool:
    """Return whether an address or network is fe80::/10."""
    return packed[0] == 0xFE and packed[1] & 0xC0 == 0x80
