# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D3: which GID, which is the address that RoCE sends from.

On InfiniBand nothing is needed. For RoCE, NCCL finds the RoCE v2 entry by itself since 2.21, and since 2.26.2 also
where entries of the table cannot be read, as in containers. Before, the index must be pinned, one for a whole node.
RCCL's versions are those of the NCCL it is made from.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gid, choose_gid

from .._findings.finding import Finding
from .._findings.remedy import Option, sentence
from .gid_table import Address, AnyNetwork, Network, cover, network_of, parse_range, pick, unreadable_below, v2_entries
from .ports import ETHERNET, HcaPort
from .view import NodeView, NotSet, decided, version_text

RULE = "D3"
INDEX, FAMILY, RANGE = "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE"
DYNAMIC = (2, 21)  # the default of the index is -1: NCCL looks for the entry
TOLERANT = (2, 26, 2)  # EINVAL of a type is passed over

Networks = Mapping[Network, int]


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a user says of the addresses: their family, 4 or 6, and their network; None: nothing that NCCL reads."""

    family: int | None
    network: AnyNetwork | None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """The GID entry that a port should send from."""

    port: HcaPort
    gid: Gid
    address: Address
    network: Network | None


@dataclasses.dataclass(frozen=True)
class Gids:
    """What was decided for a node; indexes are of the entries its RoCE ports should send from, by the ports' labels."""

    variables: list[Variable] = dataclasses.field(default_factory=list)
    not_set: list[NotSet] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    indexes: dict[str, int] = dataclasses.field(default_factory=dict)


def networks(nodes: Mapping[str, tuple[NodeView, Sequence[HcaPort]]]) -> Counter[Network]:
    """Count on how many ports of the cluster each network is: the ranks' fabric is on most."""
    return Counter(
        network
        for node, ports in nodes.values()
        for each in _roce(ports)
        for network in {network_of(address, gid.ndev, node.net) for gid, address in v2_entries(each.port.gids, 4)}
        if network is not None
    )


def asked(given: Mapping[str, str]) -> Asked:
    """Read a user's values as NCCL does (envIbAddrFamily, envIbAddrRange): any other word is AF_INET."""
    family = (6 if given[FAMILY] == "AF_INET6" else 4) if FAMILY in given else None
    network = parse_range(given.get(RANGE, ""))
    if network is not None and family not in (None, network.version):
        network = None
    return Asked(family or (network.version if network else None), network)


def family_of(node: NodeView, ports: Sequence[HcaPort]) -> int | None:
    """Return the address family that all RoCE ports have RoCE v2 GIDs of: 4 if they can, else 6, else None.

    A user's family is the only one that counts.
    """
    user = asked(node.given)
    for family in (user.family,) if user.family else (4, 6):
        if all(v2_entries(each.port.gids, family, user.network) for each in _tables(ports)):
            return family
    return None


def wanted(node: NodeView, ports: Sequence[HcaPort], family: int, on_ports: Networks) -> list[Wanted]:
    """Choose each RoCE port's entry: of its own network device, in the network of most ports, the first."""
    return [_wanted(node, each, family, on_ports) for each in _tables(ports)]


def _wanted(node: NodeView, each: HcaPort, family: int, on_ports: Networks) -> Wanted:
    entries = v2_entries(each.port.gids, family, asked(node.given).network)
    choices = {gid: Wanted(each, gid, address, network_of(address, gid.ndev, node.net)) for gid, address in entries}

    def ports_in_network(gid: Gid) -> int:
        network = choices[gid].network
        return on_ports.get(network, 0) if network else 0

    chosen = choose_gid(choices, each.port.netdev, ports_in_network)
    assert chosen is not None  # family_of found entries of this family on every port
    return choices[chosen]


def resolve(node: NodeView, ports: Sequence[HcaPort], on_ports: Networks) -> Gids:
    """Decide for one node. A user's index is the answer (the lint looks at it), a family or a range leads to it."""
    if not ports:
        return Gids()
    if not _roce(ports):
        return Gids(not_set=[NotSet(INDEX, RULE, "NCCL ignores it on InfiniBand")])
    if INDEX in node.given:
        return Gids()
    if not _tables(ports):
        return _unknown_tables(node)
    family = family_of(node, ports)
    if family is None:
        user = asked(node.given)
        none = _not_as_asked(node, ports) if user.family else _no_common_family(node, ports)
        return Gids(findings=[none])
    chosen = wanted(node, ports, family, on_ports)
    indexes = {each.port.label: each.gid.index for each in chosen}
    return dataclasses.replace(_set(node, chosen, family), indexes=indexes)


def _set(node: NodeView, chosen: list[Wanted], family: int) -> Gids:
    version = node.library.version
    holes = {each.port.label: unreadable_below(each.port.port.gids, each.gid.index) for each in chosen}
    if version is not None and (version < DYNAMIC or (version < TOLERANT and any(holes.values()))):
        return _pinned(node, chosen, version)
    gids = _found_by_nccl(node, chosen, family)
    if version is None:
        gids.findings.append(_unknown_version(node, chosen))
    return gids


def _pinned(node: NodeView, chosen: list[Wanted], version: tuple[int, ...]) -> Gids:
    indexes = {each.gid.index for each in chosen}
    library = version_text(node.library)
    why = "does not look for it" if version < DYNAMIC else "stops at GID entries below it that cannot be read"
    if len(indexes) > 1:
        return Gids(findings=[_no_common_index(node, chosen, f"{library} {why}")])
    [index] = indexes
    entry = f"RoCE v2 with {', '.join(str(each.address) for each in chosen)}"
    return Gids([decided(INDEX, str(index), RULE, f"{entry}; {library} {why}")])


def _found_by_nccl(node: NodeView, chosen: list[Wanted], family: int) -> Gids:
    indexes = sorted({each.gid.index for each in chosen})
    entry = f"index{'' if len(indexes) == 1 else 'es'} {', '.join(map(str, indexes))}"
    reason = (
        f"{version_text(node.library)} finds the RoCE v2 entry by itself ({entry}), and an index moves with addresses"
    )
    gids = Gids(not_set=[NotSet(INDEX, RULE, reason)])
    if family == 6:
        if FAMILY not in node.given:
            why = f"{RANGE} is of IPv6" if RANGE in node.given else "the RoCE v2 GIDs are IPv6 only"
            gids.variables.append(decided(FAMILY, "AF_INET6", RULE, why))
        return gids
    if RANGE in node.given:
        return gids
    several = [each for each in chosen if len({address for _gid, address in v2_entries(each.port.port.gids, 4)}) > 1]
    if not several:
        return gids
    nets = [each.network for each in chosen if each.network is not None]
    if len(nets) == len(chosen):
        whole = cover(nets)
        if all(pick(each.port.port.gids, 4, whole) == each.gid.index for each in chosen):
            seen = "; ".join(_addresses(each) for each in several)
            gids.variables.append(decided(RANGE, str(whole), RULE, f"several IPv4 GIDs: {seen}"))
            return gids
    right = all(pick(each.port.port.gids, 4) == each.gid.index for each in chosen)
    gids.findings.append(_several(node, several, stops=not right))
    return gids


def _roce(ports: Sequence[HcaPort]) -> list[HcaPort]:
    return [each for each in ports if each.port.link_layer == ETHERNET]


def _tables(ports: Sequence[HcaPort]) -> list[HcaPort]:
    """Return the RoCE ports whose GID table could be read."""
    return [each for each in _roce(ports) if each.port.gids]


def _unknown_tables(node: NodeView) -> Gids:
    version = node.library.version
    if version is None or version >= DYNAMIC:
        return Gids(not_set=[NotSet(INDEX, RULE, f"{version_text(node.library)} finds the RoCE v2 entry by itself")])
    return Gids(
        findings=[
            Finding(
                check="gid",
                node=node.name,
                status="fail",
                observed=f"the GID tables cannot be read, and {version_text(node.library)} does not look for the entry",
                expected=f"the index of the RoCE v2 entry, for {INDEX}",
                source="facts rdma",
                remedy=sentence(f"set {INDEX} in ", Option.NODE_ENV, ", or use NCCL 2.21 or later"),
            )
        ]
    )


def _addresses(each: Wanted) -> str:
    addresses = dict.fromkeys(str(address) for _gid, address in v2_entries(each.port.port.gids, 4))
    return f"{each.port.label} has {', '.join(addresses)}"


def _no_common_family(node: NodeView, ports: Sequence[HcaPort]) -> Finding:
    seen = []
    for each in _roce(ports):
        families = [f"IPv{family}" for family in (4, 6) if v2_entries(each.port.gids, family)]
        seen.append(f"{each.label}: {' and '.join(families) or 'no address that reaches beyond the link'}")
    return Finding(
        check="gid",
        node=node.name,
        status="fail",
        observed=f"the RoCE v2 GIDs of its ports are of no common family ({'; '.join(seen)})",
        expected="an IPv4 address, or an IPv6 address, on every port",
        source="facts rdma",
        remedy=sentence(
            "give the ports' network devices addresses of one family, or narrow NCCL_IB_HCA in ", Option.NODE_ENV
        ),
    )


def _not_as_asked(node: NodeView, ports: Sequence[HcaPort]) -> Finding:
    user = asked(node.given)
    given = " and ".join(f"{name}={node.given[name]}" for name in (FAMILY, RANGE) if name in node.given)
    bad = [each for each in _tables(ports) if not v2_entries(each.port.gids, user.family or 4, user.network)]
    seen = "; ".join(f"{each.label}: {_all_addresses(each) or 'none'}" for each in bad)
    return Finding(
        check="gid",
        node=node.name,
        status="warn",
        observed=f"no RoCE v2 GID is as {given} wants it ({seen})",
        expected="one on every port that the ranks use",
        source="facts rdma",
        remedy="correct it, or take it out; it is used as set",
    )


def _all_addresses(each: HcaPort) -> str:
    both = [str(address) for family in (4, 6) for _gid, address in v2_entries(each.port.gids, family)]
    return ", ".join(dict.fromkeys(both))


def _no_common_index(node: NodeView, chosen: list[Wanted], why: str) -> Finding:
    seen = ", ".join(f"{each.port.label} {each.gid.index}" for each in chosen)
    return Finding(
        check="gid",
        node=node.name,
        status="fail",
        observed=f"the RoCE v2 entry is at different GID indexes ({seen}), and {why}",
        expected=f"one index for {INDEX}",
        source="facts rdma",
        remedy="use NCCL 2.26.2 or later, which finds each by itself, or give all ports addresses in the same order",
    )


def _several(node: NodeView, several: list[Wanted], stops: bool) -> Finding:
    takes = "NCCL would take another than the fabric's" if stops else "NCCL takes the first"
    return Finding(
        check="gid",
        node=node.name,
        status="fail" if stops else "warn",
        observed=f"several IPv4 GIDs ({'; '.join(map(_addresses, several))}) that no one network tells apart; {takes}",
        expected="one IPv4 address on each port, or addresses of the ranks in one network",
        source="facts rdma, net",
        remedy=sentence(f"set {RANGE} to the fabric's network in ", Option.ENV, ", or remove the other addresses"),
    )


def _unknown_version(node: NodeView, chosen: Sequence[Wanted]) -> Finding:
    indexes = {each.gid.index for each in chosen}
    if len(indexes) == 1:
        remedy = sentence(f"if the ranks load an older one, set {INDEX} to {min(indexes)} in ", Option.NODE_ENV)
    else:
        seen = ", ".join(f"{each.port.label} {each.gid.index}" for each in chosen)
        why = f"an older one has one {INDEX} for all, and they differ ({seen})"
        remedy = sentence(f"see that the ranks load that one: {why}")
    return Finding(
        check="library",
        node=node.name,
        status="warn",
        observed=f"the version of {node.library.name.upper()} is not known",
        expected="2.26.2 or later, as RoCE is used without a pinned GID index",
        source="facts versions",
        remedy=remedy,
    )
