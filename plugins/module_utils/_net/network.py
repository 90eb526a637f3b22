# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's addresses and routes, its ports in use, and the processes that hold them.

From the kernel's own tables (proc_pid_net(5), Documentation/networking/proc_net_tcp.rst): only policy routing needs
`ip`. IPv6 is in `ipv6`.
"""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Callable

from .._host.host import Host
from .._host.live import LiveHost
from .._records.frozen import frozen
from .._records.node import Address, Net, PortHolder, Route
from .interfaces import read_speeds
from .ipv6 import ADDRESSES, ROUTES, RTF_GATEWAY, RTF_REJECT, RTF_UP, parse_ipv6_addresses, parse_ipv6_routes
from .rules import read_rules

LOOPBACK = Route("127.0.0.0/8", "lo", None, 0)
# linux/tcp_states.h
TCP_LISTEN = "0A"
PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"  # of IPv6 too
_LEAF = re.compile(r"\|-- (\d{1,3}(?:\.\d{1,3}){3})$")


@frozen
class Listener:
    """One TCP socket that waits for connections."""

    port: int
    inode: int
    uid: int


def parse_addresses(text: str) -> list[str]:
    """Return the node's addresses in /proc/net/fib_trie: the unique leaves with `/32 host LOCAL`, in order."""
    addresses: dict[str, None] = {}
    leaf = None
    for line in map(str.strip, text.splitlines()):
        match = _LEAF.match(line)
        if match:
            leaf = match.group(1) if _is_address(match.group(1)) else None
        elif line == "/32 host LOCAL" and leaf is not None:
            addresses[leaf] = None
    return list(addresses)


def _is_address(text: str) -> bool:
    try:
        socket.inet_aton(text)
    except OSError:
        return False
    return True


def parse_routes(text: str, byteorder: str = sys.byteorder) -> list[Route]:
    """Return the usable routes of /proc/net/route, whose numbers are in the machine's byte order."""

    def number(digits: str) -> bytes:
        return int(digits, 16).to_bytes(4, "little" if byteorder == "little" else "big")

    routes = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        try:
            flags, metric, mask = int(fields[3], 16), int(fields[6]), number(fields[7])
            destination, gateway = number(fields[1]), number(fields[2])
        except (ValueError, IndexError, OverflowError):
            continue
        if flags & RTF_UP and not flags & RTF_REJECT:
            length = bin(int.from_bytes(mask, "big")).count("1")
            via = socket.inet_ntoa(gateway) if flags & RTF_GATEWAY else None
            routes.append(Route(f"{socket.inet_ntoa(destination)}/{length}", fields[0], via, metric))
    return routes


def parse_listeners(text: str) -> list[Listener]:
    """Return the listening sockets in /proc/net/tcp or tcp6."""
    listeners = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        try:
            if fields[3] == TCP_LISTEN:
                listeners.append(Listener(int(fields[1].rpartition(":")[2], 16), int(fields[9]), int(fields[7])))
        except (ValueError, IndexError):
            continue
    return listeners


def parse_port_range(text: str) -> list[int] | None:
    """Return the first and the last port of ip_local_port_range."""
    match = re.fullmatch(r"([0-9]{1,5})\s+([0-9]{1,5})\s*", text, re.ASCII)
    return None if match is None else [int(number) for number in match.groups()]


def interface_of(address: str, routes: Sequence[Route]) -> str | None:
    """Return the interface of the most specific route to an address of this node; None without one, or with several.

    The kernel knows better where it can be asked: eight rails in one subnet are eight equal routes. An address of a
    cloud's VM or a pod is a network of its own (/32), to which only the routes over a gateway lead.
    """
    lengths = {route: _match(address, route.destination) for route in routes}
    best = max(((length, route.gateway is None) for route, length in lengths.items()), default=(-1, False))
    interfaces = {route.interface for route, length in lengths.items() if (length, route.gateway is None) == best}
    return interfaces.pop() if best[0] >= 0 and len(interfaces) == 1 else None


def _match(address: str, destination: str) -> int:
    """Return the length of the destination's prefix when it holds the address, -1 when it does not."""
    network, _slash, length = destination.partition("/")
    ours, theirs = (int.from_bytes(socket.inet_aton(text), "big") for text in (address, network))
    return int(length) if (ours ^ theirs) >> (32 - int(length)) == 0 else -1


def read_net(host: LiveHost, ports: Sequence[int], warn: Callable[[str], None]) -> Net:
    """Return the node's network, with the processes that hold the ports."""

    def table(path: str, what: str) -> str:
        text = host.read_text(path)
        if text is None:
            warn(f"{path} cannot be read: {what} are unknown")
        return text or ""

    routes = [*parse_routes(table("/proc/net/route", "the routes of this node")), LOOPBACK]
    names = parse_addresses(table("/proc/net/fib_trie", "the addresses of this node"))
    known = host.ipv4_interfaces() or {}
    # Absent without IPv6.
    ipv6_addresses, ipv6_routes = host.read_text(ADDRESSES) or "", host.read_text(ROUTES) or ""
    listeners = parse_listeners(table("/proc/net/tcp", "the ports in use"))
    listeners += parse_listeners(host.read_text("/proc/net/tcp6") or "")  # absent without IPv6
    sockets = {listener.inode: (listener.port, listener.uid) for listener in listeners if listener.port in ports}
    addresses = [
        *(Address(name, known.get(name) or interface_of(name, routes)) for name in sorted(names, key=socket.inet_aton)),
        *parse_ipv6_addresses(ipv6_addresses),
    ]
    namespace = host.identity("/proc/self/ns/net")
    return Net(
        addresses=addresses,
        routes=[*routes, *parse_ipv6_routes(ipv6_routes)],
        listening=sorted({listener.port for listener in listeners}),
        holders=find_holders(host, sockets),
        rules=read_rules(host),
        speeds=read_speeds(host, sorted({item.interface for item in addresses if item.interface})),
        port_range=parse_port_range(host.read_text(PORT_RANGE) or ""),
        namespace=None if namespace is None else str(namespace[1]),
    )


def find_holders(host: Host, sockets: Mapping[int, tuple[int, int]]) -> dict[str, PortHolder]:
    """Return by port (in digits) the processes that have the sockets (inode -> port, uid) open."""
    holders = {str(port): PortHolder(None, None, None, uid) for port, uid in sockets.values()}
    left = {f"socket:[{inode}]": value for inode, value in sockets.items()}
    for pid in host.list_dir("/proc") or []:
        if not left:
            break
        if pid.isdigit():
            for descriptor in host.list_dir(f"/proc/{pid}/fd") or []:
                socket_of = left.pop(host.read_link(f"/proc/{pid}/fd/{descriptor}") or "", None)
                if socket_of is not None:
                    from .._system.processes import command, run_id  # rarely used; nodes compile what is imported

                    port, uid = socket_of
                    holders[str(port)] = PortHolder(int(pid), command(host, int(pid)), run_id(host, int(pid)), uid)
    return holders
