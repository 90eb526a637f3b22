# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses of names on this node.

A node that resolves its own name to 127.0.1.1 takes itself for a single node, or for the head.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from .._host.live import LiveHost, LookedUp
from .._host.probe import run_probes
from .._records.health import ResolvedName
from .._system.machine import read_identity

HOSTS = "/etc/hosts"
# The resolver's own timeouts are longer (5 s and 2 attempts for each server, resolv.conf(5)).
LOOK_UP_S = 5.0


def parse_hosts(text: str) -> dict[str, list[str]]:
    """Return the addresses in /etc/hosts by name, in order (hosts(5))."""
    by_name: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        for name in words[1:]:
            addresses = by_name.setdefault(name.lower(), [])
            if words[0] not in addresses:
                addresses.append(words[0])
    return by_name


def read_names(host: LiveHost, names: Iterable[str]) -> dict[str, ResolvedName]:
    """Return the addresses of the node's own name and of the given names.

    Below another root no resolver is asked: names that its /etc/hosts does not have are left out.
    """
    unique = list(dict.fromkeys([read_identity(host).hostname, *names]))
    hosts_file = parse_hosts(host.read_text(HOSTS) or "")
    live = host.live
    if live is None:
        return {name: ResolvedName(hosts_file[name.lower()], HOSTS) for name in unique if name.lower() in hosts_file}
    answers = run_probes({name: partial(live.look_up, name) for name in unique}, LOOK_UP_S).answers
    return {name: _resolution(name, answers[name], hosts_file) for name in unique}


def _resolution(name: str, answer: LookedUp | None, hosts_file: dict[str, list[str]]) -> ResolvedName:
    if answer is None:
        return ResolvedName(error=f"no answer within {LOOK_UP_S:g} s")
    if not answer.addresses:
        return ResolvedName(error=answer.error or "no address")
    listed = hosts_file.get(name.lower())
    return ResolvedName(answer.addresses, HOSTS if listed and set(listed) & set(answer.addresses) else "resolver")
