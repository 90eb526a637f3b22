# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL's lists of devices: NCCL_IB_HCA and NCCL_SOCKET_IFNAME.

`[^][=]name[:port[:rail[:plane]]][,name…]`, as NCCL reads it (src/misc/utils.cc parseStringList, matchIf, matchPort,
matchIfList): `^` first, then `=`, once for the whole list; a name without `=` is a prefix; nothing is trimmed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

EMPTY_PORT_IS_ANY = (2, 30)
ANY_PORT = -1
MOST_HCAS = 32  # MAX_IB_DEVS: later entries of NCCL_IB_HCA are not read


@frozen
class Entry:
    """One name of a list; port None is any port."""

    name: str
    port: int | None = None

    def text(self) -> str:
        return self.name if self.port is None else f"{self.name}:{self.port}"


@frozen
class DeviceList:
    """A parsed list."""

    exclude: bool
    exact: bool
    entries: tuple[Entry, ...]

    def names(self, entry: Entry, name: str, port: int | None = None) -> bool:
        """Return whether an entry names this device (and port)."""
        named = name == entry.name if self.exact else name.startswith(entry.name)
        return named and (port is None or entry.port is None or port == entry.port)

    def takes(self, name: str, port: int | None = None) -> bool:
        """Return whether NCCL takes this device. An empty list is every device, with `^` none."""
        named = not self.entries or any(self.names(entry, name, port) for entry in self.entries)
        return named != self.exclude


def parse(value: str, version: Sequence[int] | None = None) -> DeviceList:
    """Read a list; version is NCCL's: before 2.30 an empty port was port 0, which no device has."""
    exclude = value.startswith("^")
    rest = value[1:] if exclude else value
    exact = rest.startswith("=")
    rest = rest[1:] if exact else rest
    any_port = None if version is None or tuple(version) >= EMPTY_PORT_IS_ANY else 0
    entries = []
    for item in rest.split(","):
        name, colon, fields = item.partition(":")
        if name:
            port = fields.partition(":")[0]
            number = (_atoi(port) if port else any_port) if colon else None
            entries.append(Entry(name, None if number == ANY_PORT else number))
    return DeviceList(exclude, exact, tuple(entries))


def render(entries: Iterable[str]) -> str:
    """Return a list of exactly these."""
    return "=" + ",".join(entries)


def _atoi(text: str) -> int:
    """Read a number as C's atoi does: the leading digits, else 0."""
    match = re.match(r"\s*([+-]?[0-9]{1,9})", text)
    return int(match.group(1)) if match else 0
