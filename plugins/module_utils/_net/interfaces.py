# SPDX-License-Identifier: GPL-3.0-or-later
"""Network interfaces: whether they are up, their MTU and speed."""

from __future__ import annotations

from collections.abc import Iterable

from .._host import sysfs
from .._host.host import Host
from .._records.health import Interface
from .._text.order import natural
from .ipv6 import ROUTES, parse_ipv6_routes

NET = "/sys/class/net"
ATTRIBUTES = ("operstate", "mtu", "speed", "carrier_changes")


def parse_routed(text: str) -> set[str]:
    """Return the interfaces that /proc/net/route names."""
    return {line.split()[0] for line in text.splitlines()[1:] if line.split()}


def read_interfaces(host: Host) -> dict[str, Interface] | None:
    """Return the interfaces with a device or a route; nodes have hundreds of others, one per pod."""
    names = host.list_dir(NET)
    if names is None:
        return None
    routed = parse_routed(host.read_text("/proc/net/route") or "")
    routed |= {route.interface for route in parse_ipv6_routes(host.read_text(ROUTES) or "")}
    interfaces = {}
    for name in sorted(names, key=natural):
        if name in routed or host.is_link(f"{NET}/{name}/device") or host.is_dir(f"{NET}/{name}/device"):
            attributes = sysfs.texts(host, f"{NET}/{name}", ATTRIBUTES)
            interfaces[name] = Interface(
                state=attributes.get("operstate"),
                mtu=sysfs.number(attributes.get("mtu")),
                # Of an interface that is down it is -1 or EINVAL; drivers without a speed return 2^32-1.
                speed_mbps=_speed(sysfs.number(attributes.get("speed"))),
                carrier_changes=sysfs.number(attributes.get("carrier_changes")),
            )
    return interfaces


def read_speeds(host: Host, names: Iterable[str]) -> dict[str, int]:
    """Return the speeds in Mb/s of those of these interfaces that are up and have one."""
    speeds = {}
    for name in names:
        attributes = sysfs.texts(host, f"{NET}/{name}", ("operstate", "speed"))
        speed = _speed(sysfs.number(attributes.get("speed")))
        if attributes.get("operstate") == "up" and speed is not None:
            speeds[name] = speed
    return speeds


def _speed(number: int | None) -> int | None:
    return number if number is not None and 0 < number < 2**32 - 1 else None
