# SPDX-License-Identifier: GPL-3.0-or-later
"""What a text is as an address."""

from __future__ import annotations

import ipaddress

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_address(text: str) -> bool:
    """Whether it is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(text: str) -> bool:
    """Whether it is an address, or the name, by which a node reaches itself only."""
    return ipaddress.ip_address(text).is_loopback if is_address(text) else text == "localhost"
