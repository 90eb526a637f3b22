# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D3: which GID, the address that RoCE sends from.

InfiniBand needs nothing. For RoCE, NCCL finds the RoCE v2 entry on its own since 2.21, and since 2.26.2 also if
entries of the table cannot be read, as in containers. Before that the index must be pinned, one for the whole node.
RCCL's versions are those of the NCCL it is based on.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gid, choose_gid

from .._cluster.address import IpAddress
from .._findings.finding import Finding, Status
from .._findings.remedy import Option, Remedy, sentence
from .gid_table import Network, address_of, cover, network_of, parse_range, search, unreadable_below, v2_entries
from .ports import ETHERNET, HcaPort
from .view import NodeView, NotSet, decided, version_text

RULE = "D3"
INDEX, FAMILY, RANGE = "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE"
DYNAMIC = (2, 21)  # the default of the index is -1: NCCL looks for the entry
TOLERANT = (2, 26, 2)  # EINVAL of an entry's type is skipped

Networks = Mapping[Network, int]


@frozen
class AddressFilter:
    """The addresses that a user allows, by family (4 or 6) and network; None is any."""

    family: int | None
    network: Network | None


@frozen
class Source:
    """The GID entry that a port should send from."""

    port: HcaPort
    gid: Gid
    address: IpAddress
    network: Network | None


@frozen
class Gids:
    """The decision for a node, and by the labels of its RoCE ports which entries they send from, in which networks."""

    variables: list[Variable] = field(default_factory=list)
    not_set: list[NotSet] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    indexes: dict[str, int] = field(default_factory=dict)
    networks: dict[str, Network] = field(default_factory=dict)


def count_ports(nodes: Mapping[str, tuple[NodeView, Sequence[HcaPort]]]) -> Counter[Network]:
    """Count the cluster's ports in each network: the ranks' fabric has the most."""
    return Counter(
        network
        for node, ports in nodes.values()
        for nic in _roce(ports)
        for family in (4, 6)
        for network in {network_of(address, gid.ndev, node.net) for gid, address in v2_entries(nic.port.gids, family)}
        if network is not None
    )


def address_filter(values: Mapping[str, str]) -> AddressFilter:
    """Read a user's values as NCCL does (envIbAddrFamily, envIbAddrRange): any other word is AF_INET."""
    family = (6 if values[FAMILY] == "AF_INET6" else 4) if FAMILY in values else None
    network = parse_range(values.get(RANGE, ""))
    if network is not None and family not in (None, network.version):
        network = None
    return AddressFilter(family or (network.version if network else None), network)


def family_of(node: NodeView, ports: Sequence[HcaPort]) -> int | None:
    """Return the address family in which all RoCE ports have RoCE v2 GIDs: 4 if possible, else 6, else None.

    If the user sets a family, only that one counts.
    """
    allowed = address_filter(node.user_values)
    for family in (allowed.family,) if allowed.family else (4, 6):
        if all(v2_entries(nic.port.gids, family, allowed.network) for nic in _tables(ports)):
            return family
    return None


def _source(node: NodeView, nic: HcaPort, family: int, on_ports: Networks) -> Source:
    """Choose a port's entry: of its own network device, in the network of most ports, the first."""
    entries = v2_entries(nic.port.gids, family, address_filter(node.user_values).network)
    sources = {gid: Source(nic, gid, address, network_of(address, gid.ndev, node.net)) for gid, address in entries}

    def ports_in_network(gid: Gid) -> int:
        network = sources[gid].network
        return on_ports.get(network, 0) if network else 0

    gid = choose_gid(sources, nic.port.netdev, ports_in_network)
    if gid is None:
        raise AssertionError("family_of checked that every port has an entry of this family")
    return sources[gid]


def link_networks(node: NodeView, ports: Sequence[HcaPort], on_ports: Networks) -> dict[str, Network]:
    """Return the networks of RoCE ports for which nothing was decided: those of the user's index, or of TCP."""
    index, family = node.user_values.get(INDEX, ""), family_of(node, ports)
    known = {}
    for nic in _tables(ports):
        if index.isdigit():
            by_index = {gid.index: gid for gid in nic.port.gids}
            gid = by_index.get(int(index))
            address = address_of(gid) if gid else None
            network = network_of(address, gid.ndev, node.net) if gid and address else None
        else:
            network = _source(node, nic, family, on_ports).network if family else None
        if network is not None:
            known[nic.label] = network
    return known


def resolve(node: NodeView, ports: Sequence[HcaPort], on_ports: Networks) -> Gids:
    """Decide for one node. A user's index is final (the lint judges it); a family or a range restricts the choice."""
    if not ports:
        return Gids()
    if not _roce(ports):
        return Gids(not_set=[NotSet(INDEX, RULE, "NCCL ignores it on InfiniBand")])
    if INDEX in node.user_values:
        return Gids()
    if not _tables(ports):
        return _unknown_tables(node)
    family = family_of(node, ports)
    if family is None:
        restricted = address_filter(node.user_values).family
        return Gids(findings=[_filter_without_entry(node, ports) if restricted else _no_common_family(node, ports)])
    sources = [_source(node, nic, family, on_ports) for nic in _tables(ports)]
    indexes = {source.port.label: source.gid.index for source in sources}
    networks = {source.port.label: source.network for source in sources if source.network is not None}
    return dataclasses.replace(_set(node, sources, family), indexes=indexes, networks=networks)


def _set(node: NodeView, sources: list[Source], family: int) -> Gids:
    version = node.library.version
    if version is not None and (version < DYNAMIC or (version < TOLERANT and _stops(node, sources, family))):
        return _pinned(node, sources, version)
    gids = _left_to_nccl(node, sources, family)
    if version is None:
        gids.findings.append(_unknown_version(node, sources))
    return gids


def _stops(node: NodeView, sources: list[Source], family: int) -> bool:
    """Return whether the library's search ends at an entry whose type cannot be read.

    On a host it is known which types it reads. In a container, it may see entries that sysfs does not show.
    """
    if node.container is False:
        network = address_filter(node.user_values).network
        return any(search(source.port.port.gids, family, network).unreadable for source in sources)
    return any(unreadable_below(source.port.port.gids, source.gid.index) for source in sources)


def _pinned(node: NodeView, sources: list[Source], version: tuple[int, ...]) -> Gids:
    indexes = {source.gid.index for source in sources}
    why = "does not look for it" if version < DYNAMIC else "stops at GID entries below it that cannot be read"
    why = f"{version_text(node.library)} {why}"
    if len(indexes) > 1:
        observed = f"the RoCE v2 entry is at different GID indexes ({_indexes(sources)}), and {why}"
        remedy = "use NCCL 2.26.2 or later, which finds each one, or give all ports addresses in the same order"
        return Gids(findings=[_finding(node, "fail", observed, f"one index for {INDEX}", remedy)])
    entry = f"RoCE v2 with {', '.join(str(source.address) for source in sources)}"
    return Gids([decided(INDEX, str(indexes.pop()), RULE, f"{entry}; {why}")])


def _left_to_nccl(node: NodeView, sources: list[Source], family: int) -> Gids:
    indexes = sorted({source.gid.index for source in sources})
    entry = f"index{'' if len(indexes) == 1 else 'es'} {', '.join(map(str, indexes))}"
    reason = f"{version_text(node.library)} finds the RoCE v2 entry on its own ({entry}); an index moves with addresses"
    gids = Gids(not_set=[NotSet(INDEX, RULE, reason)])
    if family == 6 and FAMILY not in node.user_values:
        why = f"{RANGE} is of IPv6" if RANGE in node.user_values else "the RoCE v2 GIDs are IPv6 only"
        gids.variables.append(decided(FAMILY, "AF_INET6", RULE, why))
    if RANGE in node.user_values:
        return gids
    ambiguous = [source for source in sources if len(_addresses(source.port, family)) > 1]
    if not ambiguous:
        return gids
    observed = "; ".join(
        f"{source.port.label} has {', '.join(_addresses(source.port, family))}" for source in ambiguous
    )
    nets = [source.network for source in sources if source.network is not None]
    if len(nets) == len(sources):
        whole = cover(nets)
        if all(search(source.port.port.gids, family, whole).index == source.gid.index for source in sources):
            gids.variables.append(decided(RANGE, str(whole), RULE, f"several IPv{family} GIDs: {observed}"))
            return gids
    right = all(search(source.port.port.gids, family).index == source.gid.index for source in sources)
    takes = "NCCL takes the first" if right else "NCCL would take one that is not the fabric's"
    observed = f"several IPv{family} GIDs ({observed}) that no single network separates; {takes}"
    expected = f"one IPv{family} address on each port, or addresses of the ranks in one network"
    remedy = sentence(f"set {RANGE} to the fabric's network in ", Option.ENV, ", or remove the other addresses")
    gids.findings.append(_finding(node, "warn" if right else "fail", observed, expected, remedy, "facts rdma, net"))
    return gids


def _roce(ports: Sequence[HcaPort]) -> list[HcaPort]:
    return [nic for nic in ports if nic.port.link_layer == ETHERNET]


def _tables(ports: Sequence[HcaPort]) -> list[HcaPort]:
    """Return the RoCE ports whose GID table could be read."""
    return [nic for nic in _roce(ports) if nic.port.gids]


def _addresses(nic: HcaPort, *families: int) -> list[str]:
    """Return the addresses of a port's RoCE v2 entries, each once."""
    addresses = (address for family in families for _gid, address in v2_entries(nic.port.gids, family))
    return list(dict.fromkeys(map(str, addresses)))


def _indexes(sources: Sequence[Source]) -> str:
    return ", ".join(f"{source.port.label} {source.gid.index}" for source in sources)


def _finding(
    node: NodeView, status: Status, observed: str, expected: str, remedy: Remedy | str, source: str = "facts rdma"
) -> Finding:
    return Finding("gids", node.name, status, observed, expected, source, remedy)


def _unknown_tables(node: NodeView) -> Gids:
    version, shown = node.library.version, version_text(node.library)
    if version is None or version >= DYNAMIC:
        return Gids(not_set=[NotSet(INDEX, RULE, f"{shown} finds the RoCE v2 entry on its own")])
    observed = f"the GID tables cannot be read, and {shown} does not look for the entry"
    remedy = sentence(f"set {INDEX} in ", Option.NODE_ENV, ", or use NCCL 2.21 or later")
    return Gids(findings=[_finding(node, "fail", observed, f"the index of the RoCE v2 entry, for {INDEX}", remedy)])


def _no_common_family(node: NodeView, ports: Sequence[HcaPort]) -> Finding:
    families = {
        nic.label: " and ".join(f"IPv{family}" for family in (4, 6) if v2_entries(nic.port.gids, family))
        for nic in _roce(ports)
    }
    by_port = "; ".join(
        f"{label}: {text or 'no address that reaches beyond the link'}" for label, text in families.items()
    )
    observed = f"the RoCE v2 GIDs of its ports have no address family in common ({by_port})"
    expected = "an IPv4 address, or an IPv6 address, on every port"
    how = "give the ports' network devices addresses of one family, or narrow NCCL_IB_HCA in "
    return _finding(node, "fail", observed, expected, sentence(how, Option.NODE_ENV))


def _filter_without_entry(node: NodeView, ports: Sequence[HcaPort]) -> Finding:
    allowed = address_filter(node.user_values)
    values = " and ".join(f"{name}={node.user_values[name]}" for name in (FAMILY, RANGE) if name in node.user_values)
    bad = [nic for nic in _tables(ports) if not v2_entries(nic.port.gids, allowed.family or 4, allowed.network)]
    by_port = "; ".join(f"{nic.label}: {', '.join(_addresses(nic, 4, 6)) or 'none'}" for nic in bad)
    observed = f"no RoCE v2 GID matches {values} ({by_port})"
    remedy = "correct it, or remove it; it is used as set"
    return _finding(node, "warn", observed, "one on every port that the ranks use", remedy)


def _unknown_version(node: NodeView, sources: Sequence[Source]) -> Finding:
    indexes = {source.gid.index for source in sources}
    remedy: Remedy | str = (
        f"make sure that the ranks load that one: older ones have one {INDEX} for all ports, and here the ports "
        f"differ ({_indexes(sources)})"
    )
    if len(indexes) == 1:
        remedy = sentence(f"if the ranks load an older one, set {INDEX} to {min(indexes)} in ", Option.NODE_ENV)
    observed = f"the version of {node.library.name.upper()} is unknown"
    expected = "2.26.2 or later, as RoCE is used without a pinned GID index"
    return Finding("environment", node.name, "warn", observed, expected, "facts versions", remedy)
