# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of policy routing (ip-rule(8)); no file has them."""

from __future__ import annotations

import re
import socket

from .._host.host import Host
from .._records.node import Rule

COMMANDS = {False: ["ip", "rule", "show"], True: ["ip", "-6", "rule", "show"]}  # by whether it is for IPv6
USUAL = ("local", "main", "default")
MAIN = 32766  # the priority of main's own rule
VRF = "[l3mdev-table]"  # only for sockets that are bound to a VRF
_RULE = re.compile(r"([0-9]{1,10}):\s+(not )?from all(?: to (\S{1,60}))?((?: \S+)*?) lookup (\S{1,60})(?: .*)?")


def parse_rules(text: str, ipv6: bool = False) -> list[Rule]:
    """Return the rules that a new connection follows and that look in another table than the usual ones.

    A connection has no source address, mark or incoming interface when its route is chosen: it follows the rules that
    ask for none of them, and those that ask for their absence, as WireGuard's.
    """
    rules = []
    for line in text.splitlines():
        match = _RULE.fullmatch(line.strip())
        if match is not None:
            priority, absent, destination, selectors, table = match.groups()
            known = destination is None or _is_network(destination, ipv6)
            first = int(priority) <= MAIN and table not in (*USUAL, VRF)
            if known and first and bool(absent) == bool(selectors):
                rules.append(Rule(int(priority), destination, table, ipv6))
    return rules


def read_rules(host: Host) -> list[Rule] | None:
    """Return these rules; None where they are not known, as without iproute2."""
    results = {ipv6: host.run(command) for ipv6, command in COMMANDS.items()}
    if results[False].rc != 0:
        return None
    # A kernel without IPv6 has no rules for it.
    return [rule for ipv6, result in results.items() if result.rc == 0 for rule in parse_rules(result.out, ipv6)]


def _is_network(text: str, ipv6: bool) -> bool:
    address, _slash, length = text.partition("/")
    try:
        socket.inet_pton(socket.AF_INET6 if ipv6 else socket.AF_INET, address)
    except (OSError, ValueError):  # the latter for a NUL
        return False
    return not length or (length.isdecimal() and int(length) <= (128 if ipv6 else 32))
