# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses, routes and listeners, from the kernel's own tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.muster.train.plugins.module_utils._host.live import LiveHost
from ansible_collections.muster.train.plugins.module_utils._net.network import (
    Listener,
    interface_of,
    parse_addresses,
    parse_listeners,
    parse_port_range,
    parse_routes,
    read_net,
)
from ansible_collections.muster.train.plugins.module_utils._records.node import Address, PortHolder, Route
from ansible_collections.muster.train.tests.support.machines import Machine, load

ROUTES = """\
Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0100000A	0003	0	0	100	00000000	0	0	0
eth0	0000000A	00000000	0001	0	0	100	00FFFFFF	0	0	0
eth1	0000000A	00000000	0001	0	0	50	0000FFFF	0	0	0
down	0000100A	00000000	0000	0	0	0	0000FFFF	0	0	0
*	0000630A	00000000	0201	0	0	0	0000FFFF	0	0	0
"""


def test_what_is_no_address_is_left_out() -> None:
    assert parse_addresses("|-- 999.1.1.1\n/32 host LOCAL\n|-- 10.0.0.1\n/32 host LOCAL\n") == ["10.0.0.1"]


def test_routes() -> None:
    assert parse_routes(ROUTES, "little") == [
        Route("0.0.0.0/0", "eth0", "10.0.0.1", 100),
        Route("10.0.0.0/24", "eth0", None, 100),
        Route("10.0.0.0/16", "eth1", None, 50),
    ]


def test_routes_of_a_machine_with_the_big_end_first() -> None:
    row = "eth0\t0A000000\t00000000\t0001\t0\t0\t0\tFFFFFF00\t0\t0\t0\n"
    assert parse_routes("Iface\n" + row, "big") == [Route("10.0.0.0/24", "eth0", None, 0)]


@pytest.mark.parametrize(
    "row",
    [
        "",
        "eth0",
        "eth0 0000000A 00000000 0001",
        "eth0 x 0 1 0 0 0 0",
        "eth0 FFFFFFFFFF 0 0001 0 0 0 00FFFFFF",
        "eth0 0 0 1 0 0 m 0",
    ],
)
def test_a_row_that_is_no_route_is_passed_over(row: str) -> None:
    good = "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0"
    assert len(parse_routes(f"Iface\n{row}\n{good}\n", "little")) == 1


def test_addresses_are_named_once_and_networks_are_not_addresses() -> None:
    section = """\
     +-- 10.0.0.0/24 2 0 2
        |-- 10.0.0.0
           /24 link UNICAST
        |-- 10.0.0.5
           /32 host LOCAL
        |-- 10.0.0.255
           /32 link BROADCAST
        |-- 127.0.0.0
           /8 host LOCAL
        |-- 10.0.0.9
           /32 link UNICAST
           /32 host LOCAL
"""
    assert parse_addresses("Main:\n" + section + "Local:\n" + section) == ["10.0.0.5", "10.0.0.9"]


@pytest.mark.parametrize("text", ["", "/32 host LOCAL\n", "|--\n /32 host LOCAL\n", "|-- what\n/32 host LOCAL\n"])
def test_a_table_that_says_nothing(text: str) -> None:
    assert parse_addresses(text) == []


def test_the_interface_of_an_address_is_that_of_the_most_specific_route() -> None:
    routes = parse_routes(ROUTES, "little")
    assert interface_of("10.0.0.5", routes) == "eth0"
    assert interface_of("10.0.7.5", routes) == "eth1"
    assert interface_of("10.0.0.5", []) is None
    # On the link before over a gateway, whatever the order.
    assert interface_of("10.0.0.5", [Route("10.0.0.0/24", "eth2", "10.1.0.1", 0), *routes]) == "eth0"


def test_an_address_that_is_a_network_of_its_own() -> None:
    pod = [Route("0.0.0.0/0", "eth0", "169.254.1.1", 0), Route("169.254.1.1/32", "eth0", None, 0)]
    assert interface_of("10.244.7.19", pod) == "eth0"
    virtual_machine = [
        Route("0.0.0.0/0", "nic0", "10.128.0.1", 0),
        Route("10.128.0.1/32", "nic0", None, 0),
        Route("10.140.0.0/20", "nic1", "10.140.0.1", 0),
        Route("10.140.0.1/32", "nic1", None, 0),
    ]
    assert interface_of("10.128.0.5", virtual_machine) == "nic0"
    assert interface_of("10.140.0.5", virtual_machine) == "nic1"


def test_two_interfaces_in_one_network_leave_the_interface_unknown() -> None:
    routes = [Route("10.0.0.0/24", "rail0", None, 101), Route("10.0.0.0/24", "rail1", None, 102)]
    assert interface_of("10.0.0.5", routes) is None


def test_the_kernel_knows_the_interface_better_than_the_routes(tmp_path: Path) -> None:
    table = "Iface\n" + "".join(f"{name}\t0000140A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n" for name in ("rail0", "rail1"))
    files = {
        "/proc/net/route": table,
        "/proc/net/fib_trie": "|-- 10.20.0.11\n/32 host LOCAL\n|-- 10.20.0.12\n/32 host LOCAL\n",
        "/proc/net/tcp": "",
    }
    addresses = {"10.20.0.11": "rail1", "192.0.2.1": "down"}
    known = read_net(Machine({"files": files, "addresses": addresses}, tmp_path / "known"), [], pytest.fail)
    assert known.addresses == [Address("10.20.0.11", "rail1"), Address("10.20.0.12", None)]
    asked = read_net(Machine({"files": files}, tmp_path / "asked"), [], pytest.fail)
    assert asked.addresses == [Address("10.20.0.11", None), Address("10.20.0.12", None)]


def test_listeners() -> None:
    text = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0
   1: 0100007F:733D 0100007F:0016 01 00000000:00000000 00:00000000 00000000  1000        0 31338 1 0
   2: 0100007F:XXXX 00000000:0000 0A 0 0 0 1000 0 31339
   3: 0100007F
   4: 0100007F:733E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  oops        0 31340 1 0
"""
    assert parse_listeners(text) == [Listener(29500, 31337, 1000)]


def test_laptop(tmp_path: Path) -> None:
    warnings: list[str] = []
    net = read_net(load("laptop", tmp_path), [29500, 29501, 631], warnings.append)
    assert net.addresses == [
        Address("127.0.0.1", "lo"),
        Address("172.17.0.1", "docker0"),
        Address("192.168.178.23", "wlp2s0"),
    ]
    assert net.routes == [
        Route("0.0.0.0/0", "wlp2s0", "192.168.178.1", 600),
        Route("172.17.0.0/16", "docker0", None, 0),
        Route("192.168.178.0/24", "wlp2s0", None, 600),
        Route("127.0.0.0/8", "lo", None, 0),
    ]
    assert net.listening == [22, 631, 29500]
    assert net.holders == {
        "631": PortHolder(1, "systemd", None, 0),
        "29500": PortHolder(7001, "python3", "multinode_20261120_143052", 1000),
    }
    assert warnings == []


def test_hgx_h100(tmp_path: Path) -> None:
    net = read_net(load("hgx_h100", tmp_path), [29500], pytest.fail)
    assert net.addresses == [
        Address("10.10.0.11", "bond0"),
        Address("10.20.0.11", None),
        Address("10.20.1.11", None),
        Address("10.30.7.2", "storage0"),
        Address("127.0.0.1", "lo"),
    ]
    assert Route("10.30.0.0/16", "storage0", "10.30.7.1", 0) in net.routes
    assert [route for route in net.routes if route.destination == "10.99.0.0/16"] == []
    assert net.listening == [22, 8080, 29500]
    # Another user's process: nothing but whose it is.
    assert net.holders == {"29500": PortHolder(None, None, None, 4001)}


def test_no_warning_where_ipv6_is_switched_off(tmp_path: Path) -> None:
    assert read_net(load("mi300x", tmp_path), [], pytest.fail).listening == [22]


def test_tables_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    warnings: list[str] = []
    net = read_net(load("container", tmp_path), [29500], warnings.append)
    assert (net.addresses, net.listening, net.holders) == ([], [], {})
    assert net.routes[0] == Route("0.0.0.0/0", "eth0", "172.17.0.1", 0)
    assert len(warnings) == 2


def test_nothing_at_all(tmp_path: Path) -> None:
    warnings: list[str] = []
    net = read_net(Machine({}, tmp_path), [1], warnings.append)
    assert net.routes == [Route("127.0.0.0/8", "lo", None, 0)]
    assert len(warnings) == 3


@pytest.mark.parametrize(
    ("text", "port_range"),
    [("32768\t60999\n", [32768, 60999]), ("50000 50000", [50000, 50000]), ("", None), ("9\n", None), ("a b", None)],
)
def test_port_range(text: str, port_range: list[int] | None) -> None:
    assert parse_port_range(text) == port_range


def test_the_range_of_the_kernel_is_read(tmp_path: Path) -> None:
    files = {"/proc/sys/net/ipv4/ip_local_port_range": "50000\t51000\n"}
    assert read_net(Machine({"files": files}, tmp_path), [], lambda _warning: None).port_range == [50000, 51000]


def test_the_namespace_of_this_machine_is_read() -> None:
    assert read_net(LiveHost(), [], lambda _warning: None).namespace == str(os.stat("/proc/self/ns/net").st_ino)
