# SPDX-License-Identifier: GPL-3.0-or-later
"""A port's GID table.

Files of Documentation/ABI/stable/sysfs-class-infiniband: gids/N, gid_attrs/types/N, gid_attrs/ndevs/N. The last two
return EINVAL for an entry that is not set.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable

from .._host import sysfs
from .._host.host import Host
from .._records.rdma import Gid

IPV4_MAPPED = bytes(10) + b"\xff\xff"
LINK_LOCAL = b"\xfe\x80" + bytes(6)
_INDEX = re.compile(r"[0-9]{1,5}")


def parse_gid(text: str) -> bytes | None:
    """Return the 16 bytes of a GID that is set (not ::, nor the fe80:: of an unset entry of older InfiniBand)."""
    try:
        raw = socket.inet_pton(socket.AF_INET6, text.strip())
    except (OSError, ValueError):
        return None
    return raw if any(raw[8:]) or raw[:8] not in (bytes(8), LINK_LOCAL) else None


def gid_record(index: int, raw: bytes, kind: str | None, ndev: str | None) -> Gid:
    """Return the record, with the GID in the kernel's format and the address that it represents."""
    if raw.startswith(IPV4_MAPPED):
        address = socket.inet_ntop(socket.AF_INET, raw[12:])
    else:
        address = socket.inet_ntop(socket.AF_INET6, raw)
    groups = (raw[place : place + 2].hex() for place in range(0, 16, 2))
    return Gid(index=index, gid=":".join(groups), type=kind, address=address, ndev=ndev)


def raw_of(gid: Gid) -> bytes:
    """Return the 16 bytes."""
    return bytes.fromhex(gid.gid.replace(":", ""))


def is_link_local(gid: Gid) -> bool:
    """Return whether its address is link-local."""
    return raw_of(gid).startswith(LINK_LOCAL)


def read_gids(host: Host, port: str) -> list[Gid] | None:
    """Return the entries that are set, in order; None if the port (its folder) has no table.

    Every gids/N is read, because sysfs does not list which are set, and any number of unset entries may come before
    the last one: the kernel fills the first free entry (ib_cache_gid_add).
    """
    names = host.list_dir(f"{port}/gids")
    if names is None:
        return None
    contents = host.read_folder(f"{port}/gids", filter(_INDEX.fullmatch, names))
    table = {}
    for name, content in contents.items():
        # Most of 256: not worth decoding.
        if content.strip(b"0:\n"):
            raw = parse_gid(content.decode("utf-8", "replace"))
            if raw is not None:
                table[name] = raw
    kinds = sysfs.texts(host, f"{port}/gid_attrs/types", table)
    ndevs = sysfs.texts(host, f"{port}/gid_attrs/ndevs", table)
    return [
        gid_record(int(name), raw, kinds.get(name), ndevs.get(name))
        for name, raw in sorted(table.items(), key=lambda item: int(item[0]))
    ]


def interfaces(gids: Iterable[Gid]) -> list[str]:
    """Return the interfaces of the entries, each once."""
    return list(dict.fromkeys(gid.ndev for gid in gids if gid.ndev is not None))
