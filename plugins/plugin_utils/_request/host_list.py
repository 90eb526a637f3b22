# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts as a person writes them: a list, ranges, or a node_ip_list.txt.

A host is `[user@]host[:port]` with a name of RFC 1123 or an IPv4 address: neither a shell nor ssh can take one for
anything else. `gpu[01-16]` and `10.0.0.[11-14,21]` are ranges; leading zeros are kept.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._text.printable import clean

from .._findings.errors import UserError, display
from .invalid_value import InvalidValue

LIMIT = 4096  # a range of more hosts than this is taken for a mistake
LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
NAME_LIMIT = 253
NUMBERS = re.compile(r"[0-9.]+")
USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
# Hosts are separated by commas and blanks, but not inside brackets.
PART = re.compile(r"(?:\[[^\[\]]*\]|[^\s,\[\]]|[\[\]])+")
SSH_PORT = 22
# Names that have another meaning in Ansible.
RESERVED = ("localhost", "all", "ungrouped", "nodes")


class HostsError(UserError):
    """Everything that is wrong with a list of hosts, one line each."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


@frozen
class Target:
    """A host as the user wrote it, None for what was not written; `name` is the node's name."""

    host: str
    user: str | None = None
    port: int | None = None
    name: str = ""

    @property
    def endpoint(self) -> tuple[str, int]:
        """Where it is reached: two targets with the same endpoint are one node."""
        return self.host.lower(), self.port or SSH_PORT

    def variables(self) -> dict[str, object]:
        """Return Ansible's variables for it."""
        address = self.host if self.name != self.host else None
        variables = {"ansible_host": address, "ansible_user": self.user, "ansible_port": self.port}
        return {name: value for name, value in variables.items() if value is not None}


def read_hosts(raw: object) -> list[str]:
    """Return the texts of a parameter unchanged, ranges included, if all of them can be read."""
    texts = [raw] if isinstance(raw, str) else raw
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError
    try:
        parse_hosts(texts)
    except HostsError as error:
        raise InvalidValue("; ".join(error.lines)) from None
    return texts


def parse_hosts(raw: str | Iterable[object]) -> list[Target]:
    """Return the hosts of a line (`a,b,gpu[01-16]`) or a list of lines; raise HostsError with all that is wrong."""
    texts = [raw] if isinstance(raw, str) else list(raw)
    parts = [(part, part) for text in texts for part in (PART.findall(text) if isinstance(text, str) else [str(text)])]
    return _targets(parts, "give HOST, USER@HOST:PORT or a range such as gpu[01-16]")


def parse_node_list(text: str) -> list[Target]:
    """Return the hosts of a node_ip_list.txt, the head first; raise HostsError with the lines that are wrong.

    Blank lines, `#` comments and blanks around a host are ignored.
    """
    parts = []
    for number, line in enumerate(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").splitlines(), 1):
        host = re.sub(r"(^|\s)#.*", "", line).strip()
        if host:
            parts.append((f"line {number}", host))
    return _targets(parts, "one host a line, as HOST or USER@HOST:PORT", ranges=False)


def _targets(parts: Iterable[tuple[str, str]], advice: str, ranges: bool = True) -> list[Target]:
    """Read every part, a pair of where it stands and its text."""
    lines: list[str] = []
    targets: list[Target] = []
    first: dict[tuple[str, int], str] = {}
    for where, text in parts:
        place = clean(where)[:80]
        try:
            for name in expand(text) if ranges else [text]:
                target = parse_target(name)
                if before := first.get(target.endpoint):
                    lines.append(f"{place}: {clean(name)} is given twice, first by {before}; keep one of them")
                else:
                    first[target.endpoint] = place
                    targets.append(target)
                if len(targets) > LIMIT:
                    raise HostsError([f"{place}: more than {LIMIT} hosts; give a smaller range"])
        except HostsError:
            raise
        except ValueError as error:
            lines.append(f"{'' if where == text else f'{place}: '}{error}; {advice}")
    if not lines and not targets:
        lines.append(f"no host is named; {advice}")
    if lines:
        raise HostsError(lines)
    # Several ports of one host are several nodes, and the name says which.
    counts = Counter(target.host.lower() for target in targets)
    return [
        dataclasses.replace(
            target,
            name=target.host if counts[target.host.lower()] == 1 else f"{target.host}-{target.port or SSH_PORT}",
        )
        for target in targets
    ]


def expand(text: str) -> Iterator[str]:
    """Return the names of a range in order, the text itself where it has no brackets."""
    pieces = re.split(r"\[([^\[\]]*)\]", text)
    if any("[" in piece or "]" in piece for piece in pieces):
        raise ValueError(f"{display(text)} has an unmatched bracket")
    # Every second piece was in brackets.
    choices = [[piece] if index % 2 == 0 else list(_numbers(piece, text)) for index, piece in enumerate(pieces)]
    for words in product(*choices):
        yield "".join(words)


def _numbers(inside: str, text: str) -> Iterator[str]:
    """Return the numbers of `01-16,20`, as wide as the first of each range is written."""
    for part in inside.split(","):
        match = RANGE.fullmatch(part.strip())
        if not match:
            raise ValueError(f"{display(text)}: expected numbers such as [01-16] or [1,4-7], saw {display(inside)}")
        begin, end = match[1], match[2] or match[1]
        if int(end) < int(begin):
            raise ValueError(f"{display(text)}: the range {begin}-{end} runs backwards")
        if int(end) - int(begin) >= LIMIT:
            raise ValueError(f"{display(text)}: the range {begin}-{end} has more than {LIMIT} hosts")
        yield from (str(number).zfill(len(begin)) for number in range(int(begin), int(end) + 1))


def parse_target(text: str) -> Target:
    """Return what `[user@]host[:port]` names; raise ValueError with what is wrong."""
    user, at, rest = text.rpartition("@")
    if at and not USER.fullmatch(user):
        raise ValueError(f"{display(text)}: {display(user)} is not a valid user name")
    host, colon, port = rest.partition(":")
    if ":" in port:
        raise ValueError(f"{display(text)} has two colons: IPv6 addresses are not supported, give the host a name")
    if colon and not (re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) < 65536):
        raise ValueError(f"{display(text)}: {display(port)} is not a port from 1 to 65535")
    check_host(host)
    return Target(host, user or None, int(port) if colon else None)


def check_host(host: str) -> None:
    """Raise ValueError for what is neither a host name nor an IPv4 address."""
    if NUMBERS.fullmatch(host):
        try:
            ipaddress.IPv4Address(host)
        except ValueError as error:
            raise ValueError(f"{display(host)} is not an IPv4 address ({error})") from None
    elif len(host) > NAME_LIMIT or not all(LABEL.fullmatch(label) for label in host.split(".")):
        raise ValueError(f"{display(host)} is not a host name (letters, digits, '-' and '.', as in RFC 1123)")
    elif host.lower() in RESERVED:
        raise ValueError(f"{display(host)} has another meaning in Ansible")
