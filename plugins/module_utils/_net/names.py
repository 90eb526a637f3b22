# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What names stand for on this node.

A node whose own name is 127.0.1.1 to itself believes that it is alone, or that it is the head.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable

from .._host.host import Host
from .._host.live import LookedUp
from .._host.probe import run_probes
from .._records.health import Resolution
from .._system.machine import read_identity

HOSTS = "/etc/hosts"
# The resolver's own timeouts are longer (5 s and 2 attempts for each server, resolv.conf(5)).
LOOK_UP_S = 5.0


def parse_hosts(text: str) -> dict[str, list[str]]:
    """Return the addresses in /etc/hosts by name, in order (hosts(5))."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        for name in words[1:]:
            addresses = found.setdefault(name.lower(), [])
            if words[0] not in addresses:
                addresses.append(words[0])
    return found


def read_names(host: Host, names: Iterable[str]) -> dict[str, Resolution]:
    """Return what the node's own name and those names stand for.

    Below another root nobody asks a resolver: names that its /etc/hosts does not have are left out.
    """
    wanted = list(dict.fromkeys([read_identity(host).hostname, *names]))
    of_hosts = parse_hosts(host.read_text(HOSTS) or "")
    if not host.own:
        return {name: Resolution(of_hosts[name.lower()], HOSTS) for name in wanted if name.lower() in of_hosts}
    found = run_probes({name: _asker(host, name) for name in wanted}, LOOK_UP_S).answers
    return {name: _resolution(name, found[name], of_hosts) for name in wanted}


def _asker(host: Host, name: str) -> Callable[[], LookedUp]:
    return lambda: host.outside.look_up(name)


def _resolution(name: str, said: LookedUp | None, of_hosts: dict[str, list[str]]) -> Resolution:
    if said is None:
        return Resolution(error=f"no answer within {LOOK_UP_S:g} s")
    if not said.addresses:
        return Resolution(error=said.error or "no address")
    there = of_hosts.get(name.lower())
    return Resolution(said.addresses, HOSTS if there and set(there) & set(said.addresses) else "resolver")
