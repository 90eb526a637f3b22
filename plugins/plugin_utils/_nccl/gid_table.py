# SPDX-License-Identifier: GPL-3.0-or-later
"""A port's GID table as NCCL reads it."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Sequence
from typing import Any, cast

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.node import Net
from ansible_collections.muster.train.plugins.module_utils._records.rdma import ROCE_V2, Gid

from .._cluster.address import IpAddress

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
UNSET = ipaddress.IPv6Address(0)


def address_of(gid: Gid) -> IpAddress | None:
    """Return an entry's address, IPv4 if it is a mapped one; None if it cannot be read."""
    return _parsed(gid.address or "") or _parsed(gid.gid)


@functools.lru_cache(maxsize=8192)  # every rule reads every port's table again
def _parsed(text: str) -> IpAddress | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if address.version == 6 else address


def v2_entries(gids: Sequence[Gid], family: int, inside: Network | None = None) -> list[tuple[Gid, IpAddress]]:
    """Return the RoCE v2 entries of a family (4 or 6) that reach beyond the link, in index order, inside a network.

    169.254.0.0/16 is included: NCCL does not know that it is link-local.
    """
    return [
        (gid, address)
        for gid in sorted(gids, key=lambda gid: gid.index)
        if gid.type == ROCE_V2 and gid.family == family and (address := address_of(gid))
        if inside is None or address in inside
    ]


@frozen
class Search:
    """NCCL's search for an entry; unreadable: on the way it reads a type that the kernel refuses to give (EINVAL)."""

    index: int
    unreadable: bool


def search(gids: Sequence[Gid], family: int, network: Network | None = None) -> Search:
    """Return what NCCL finds, from 2.21 on (net_ib/connect.cc ncclIbGetGidIndex).

    family is NCCL_IB_ADDR_FAMILY, network NCCL_IB_ADDR_RANGE. The first entry of the family replaces one of the other
    family, whatever its RoCE version; then the first of RoCE version 2 replaces that. Only there are types read: those
    of unset entries, which count as IPv6, do not matter for IPv4.
    """
    table = {gid.index: gid for gid in gids}
    current, unreadable = 0, False
    for index in range(1, max(table, default=0) + 1):
        before, after = (_entry(table.get(place)) for place in (current, index))
        inside = network is None or after in network
        if after.version != before.version and after.version == family and inside:
            current = index
        elif after.version == family and _valid(after) and inside:
            versions = [table[place].type if place in table else None for place in (current, index)]
            unreadable = unreadable or None in versions
            if (versions[0] != versions[1] or not _valid(before)) and versions[1] == ROCE_V2:
                current = index
    return Search(current, unreadable)


def parse_range(text: str) -> Network | None:
    """Return the network of NCCL_IB_ADDR_RANGE, address/bits; None for what NCCL ignores (envIbAddrRange)."""
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def unreadable_below(gids: Sequence[Gid], index: int) -> bool:
    """Return whether the type of an entry below this index cannot be read: unset entries fail with EINVAL."""
    return not {gid.index for gid in gids if gid.type is not None}.issuperset(range(index))


def network_of(address: IpAddress, interface: str | None, net: Net | None) -> Network | None:
    """Return the network of the link that an address is on, by the routes of its interface.

    A route to one address alone does not say which hosts are on the link: it counts if there is no other.
    """

    def size(network: Network) -> tuple[bool, int]:
        return network.num_addresses > 1, network.prefixlen

    best: Network | None = None
    for route in net.routes if net else []:
        if route.gateway is not None or interface not in (None, route.interface):
            continue
        try:
            network = ipaddress.ip_network(route.destination, strict=False)
        except ValueError:
            continue
        # A default route on the link itself does not say which hosts are on it.
        if network.prefixlen and address in network:
            best = network if best is None else max(best, network, key=size)
    return best


def cover(networks: Sequence[Network]) -> Network:
    """Return the smallest network that contains all of these, which are of one family."""
    whole: Any = networks[0]
    while not all(network.subnet_of(whole) for network in networks):
        whole = whole.supernet()
    return cast(Network, whole)


def _entry(gid: Gid | None) -> IpAddress:
    return UNSET if gid is None else address_of(gid) or UNSET


def _valid(address: IpAddress) -> bool:
    """NCCL's validGid: set and not IPv6 link-local. An IPv4 link-local address passes."""
    return address != UNSET and not (address.version == 6 and address.is_link_local)
