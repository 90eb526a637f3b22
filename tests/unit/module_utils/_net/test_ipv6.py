# SPDX-License-Identifier: GPL-3.0-or-later
"""IPv6 addresses and routes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._net.ipv6 import parse_ipv6_addresses, parse_ipv6_routes
from ansible_collections.muster.train.plugins.module_utils._net.network import read_net
from ansible_collections.muster.train.plugins.module_utils._records.node import Address, Route
from ansible_collections.muster.train.tests.support.machines import Machine

# An address of the node, one that was made for privacy, one that is not confirmed yet, one of the link, loopback.
ADDRESSES = """\
fd000000000000000000000000000014 03 40 00 80     eth0
fd000000000000008c1f0bff41d26e77 03 40 00 01     eth0
fd000000000000000000000000000015 03 40 00 c0     eth0
fe80000000000000025056fffe000001 03 40 20 80     eth0
00000000000000000000000000000001 01 80 10 80       lo
fd00
"""
ZERO = "00000000000000000000000000000000"
ROUTES = f"""\
fd000000000000000000000000000000 40 {ZERO} 00 {ZERO} 00000100 00000001 00000000 00000001     eth0
fe800000000000000000000000000000 40 {ZERO} 00 {ZERO} 00000100 00000001 00000000 00000001     eth0
{ZERO} 00 {ZERO} 00 fd000000000000000000000000000001 00000400 00000002 00000000 00000003     eth0
fd000000000000000000000000000014 80 {ZERO} 00 {ZERO} 00000000 00000003 00000000 80200001     eth0
ff000000000000000000000000000000 08 {ZERO} 00 {ZERO} 00000100 00000003 00000000 00000001     eth0
{ZERO} 00 {ZERO} 00 {ZERO} ffffffff 00000001 00000000 00200200       lo
{ZERO} 00 {ZERO} 00
"""


def test_addresses_that_stay() -> None:
    assert parse_ipv6_addresses(ADDRESSES) == [Address("::1", "lo"), Address("fd00::14", "eth0")]


def test_routes_beyond_the_link() -> None:
    assert parse_ipv6_routes(ROUTES) == [
        Route("fd00::/64", "eth0", None, 256),
        Route("::/0", "eth0", "fd00::1", 1024),
    ]


def test_a_node_without_ipv4(tmp_path: Path) -> None:
    files = {
        "/proc/net/route": "Iface\n",
        "/proc/net/fib_trie": "|-- 127.0.0.1\n/32 host LOCAL\n",
        "/proc/net/tcp": "",
        "/proc/net/if_inet6": ADDRESSES,
        "/proc/net/ipv6_route": ROUTES,
    }
    net = read_net(Machine({"files": files}, tmp_path), [], pytest.fail)
    assert net.addresses == [Address("127.0.0.1", "lo"), Address("::1", "lo"), Address("fd00::14", "eth0")]
    assert net.default_route == Route("::/0", "eth0", "fd00::1", 1024)
