# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses of names on this node, and how long it takes to look them up.

A node that resolves its own name to 127.0.1.1 takes itself for a single node, or for the head. torch asks for names and
for the names of addresses as it starts, each process for itself, and waits for a name server that is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from .._host.live import LiveHost, LookedUp
from .._host.probe import run_probes
from .._records.health import ResolvedName
from .._system.machine import read_identity

HOSTS = "/etc/hosts"
# The resolver's own timeouts are longer (5 s and 2 attempts for each server, resolv.conf(5)).
LOOK_UP_S, REVERSE_S = 5.0, 4.0


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
    ms: dict[str, int] = {}
    reverse_ms: dict[str, int] = {}
    answers = run_probes({name: partial(live.look_up, name) for name in unique}, LOOK_UP_S, ms).answers
    addresses = {name: answer.addresses[0] for name, answer in answers.items() if answer and answer.addresses}
    run_probes({name: partial(live.look_up_name, place) for name, place in addresses.items()}, REVERSE_S, reverse_ms)
    return {
        name: replace(_resolution(name, answers[name], hosts_file), ms=ms[name], reverse_ms=reverse_ms.get(name))
        for name in unique
    }


def _resolution(name: str, answer: LookedUp | None, hosts_file: dict[str, list[str]]) -> ResolvedName:
    if answer is None:
        return ResolvedName(error=f"no answer within {LOOK_UP_S:g} s")
    if not answer.addresses:
        return ResolvedName(error=answer.error or "no address")
    listed = hosts_file.get(name.lower())
    return ResolvedName(answer.addresses, HOSTS if listed and set(listed) & set(answer.addresses) else "resolver")
