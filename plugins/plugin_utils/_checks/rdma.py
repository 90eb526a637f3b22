# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the RDMA ports well, and can they reach each other?

Which ports the ranks use, their GIDs and whether those of all nodes fit together is what the environment's rules find
(`_environments.decide`); here it is told, completed, and compared with the inventory's profile.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from ansible_collections.muster.train.plugins.module_utils._records.node import Net

from .._cluster.node import Node
from .._cluster.peers import usual
from .._findings.finding import Finding
from .._nccl.ports import INFINIBAND, ports_of, usable
from .comparison import ranks_ports
from .model import PROFILE, Cluster, Look, Looks, Seen, completed, fine, seen_of, skip, unknown

NO_RDMA = "there is no RDMA device"
NONE_USABLE = "there is no usable RDMA port"
# What each counter's threshold is called; what is not here is told and not judged.
COUNTERS = {
    "link_downed": "link_downed",
    "symbol_error": "symbol_error",
    "local_link_integrity_errors": "other_errors",
    "excessive_buffer_overrun_errors": "other_errors",
}
PROFILE_KEYS = ("rdma_ports", "rdma_rate_gbps", "link_layer")


def decided(rules: tuple[str, ...], well: Callable[[Node, Cluster], Seen]) -> Look:
    """Make a check of what the environment's rules found under these names."""

    def look(cluster: Cluster) -> Looks:
        found = [
            (each.node, seen_of(each))
            for each in cluster.decided
            if each.check in rules and not _follows(each, cluster)
        ]
        return completed(cluster, found, lambda node: well(node, cluster))

    return look


def _follows(found: Finding, cluster: Cluster) -> bool:
    """Say whether a node has other ports for its ranks only because it has other GPUs, which is told elsewhere."""
    if found.check != "hcas" or found.status != "fail" or found.node not in cluster.nodes:
        return False
    machines = {name: _ports_and_gpus(node) for name, node in cluster.nodes.items()}
    all_ports, all_gpus = (usual({name: own[part] for name, own in machines.items()}) for part in (0, 1))
    if all_ports is None or all_gpus is None:
        return False
    return found.node not in all_ports.odd and found.node in all_gpus.odd


def _ports_and_gpus(node: Node) -> tuple[tuple[object, ...], tuple[int, int]]:
    ports = tuple((each.label, each.rate, each.port.link_layer) for each in usable(node.rdma))
    return ports, (node.gpu.count, len(node.gpu.devices)) if node.gpu else (0, 0)


def ports(node: Node, cluster: Cluster) -> Seen:
    """Tell the ranks' ports, and compare them with the profile."""
    if node.rdma is None:
        return unknown("the RDMA devices cannot be seen", "rdma")
    own = ranks_ports(node, cluster)
    wanted = [key for key in PROFILE_KEYS if key in cluster.expected]
    if not own and not wanted:
        return skip(NONE_USABLE if node.rdma.hcas else NO_RDMA)
    seen = {
        "rdma_ports": str(len(own)),
        "rdma_rate_gbps": " and ".join(sorted({f"{each.rate:g}" for each in own})),
        "link_layer": " and ".join(sorted({each.port.link_layer or "unknown" for each in own})),
    }
    observed = (
        f"{seen['rdma_ports']} {seen['link_layer']} ports of {seen['rdma_rate_gbps']} Gb/s" if own else NONE_USABLE
    )
    odd = [key for key in wanted if seen[key] != _text(cluster.expected[key])]
    expected = ", ".join(f"{key} {_text(cluster.expected[key])}" for key in wanted)
    source = ", ".join(f"{PROFILE}.{key}" for key in wanted)
    if odd:
        remedy = "look at cable, transceiver, switch port and, on InfiniBand, the subnet manager (ibstat, mlxlink)"
        return Seen("fail", observed, expected, source, remedy)
    return fine(observed, source or "facts rdma", expected)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def gids(node: Node, cluster: Cluster) -> Seen:
    """Tell the RoCE v2 entries of the ranks' ports."""
    own = [each for each in ranks_ports(node, cluster) if each.port.link_layer != INFINIBAND]
    if not own:
        return skip("no port of the ranks is RoCE")
    chosen = {each.label: each.port.rocev2_gid_index for each in own} | dict(cluster.gids.get(node.name, {}))
    texts = [f"{each.label} {'none' if chosen[each.label] is None else chosen[each.label]}" for each in own]
    return fine(", ".join(texts), "gid_attrs/types")


def rules(node: Node, cluster: Cluster) -> Seen:
    """Nothing of the environment is wrong."""
    return fine(f"fabric {cluster.fabric}" if cluster.fabric else "nothing is decided")


def counters(node: Node, cluster: Cluster) -> Seen:
    """Find ports with errors above the thresholds."""
    if node.rdma is None:
        return unknown("the RDMA devices cannot be seen", "rdma")
    own = ranks_ports(node, cluster)
    if not own:
        return skip(NONE_USABLE if node.rdma.hcas else NO_RDMA)
    told = [(each, name, value) for each in own for name, value in each.port.counters.items() if name in COUNTERS]
    if not told:
        return skip("the ports tell no counters")
    high = [
        (f"{each.label} {name} {value}", COUNTERS[name])
        for each, name, value in told
        if value > cluster.thresholds.value(COUNTERS[name])
    ]
    if not high:
        return fine(f"{len(told)} counters of {len(own)} ports are below their thresholds", "sysfs counters")
    return Seen(
        "fail",
        "; ".join(text for text, _name in high[:8]),
        "fewer errors since the driver was loaded",
        "; ".join(dict.fromkeys(cluster.thresholds.source(name) for _text, name in high)),
        "clean or replace cable and transceiver; if they are old, set them back and look again: perfquery -R",
    )


def rails(cluster: Cluster) -> Looks:
    """Find nodes whose ports are in other networks than those of the same name on the others."""
    networks = {name: _networks(node, cluster) for name, node in cluster.nodes.items()}
    odd: dict[str, list[str]] = {}
    expected: dict[str, list[str]] = {}
    for hca in dict.fromkeys(hca for own in networks.values() for hca in own):
        values = {name: own[hca] for name, own in networks.items() if hca in own}
        peers = usual(values)
        # Where each node has a network of its own for each port, switches route between them.
        known = {network for name, own in networks.items() for other, network in own.items() if other != hca}
        if peers is None or (len(peers.nodes) < 2 and not known & set(values.values())):
            continue
        for name in peers.odd:
            odd.setdefault(name, []).append(f"{hca} {values[name]}")
            expected.setdefault(name, []).append(f"{hca} {peers.value}")
    source, remedy = (
        "peers: the same port in the same network",
        "correct the addresses, or swap the cables of these ports",
    )
    found = [
        (name, Seen("fail", ", ".join(seen), ", ".join(expected[name]), source, remedy)) for name, seen in odd.items()
    ]
    return completed(cluster, found, lambda node: _rail(node, networks[node.name]))


def _rail(node: Node, own: dict[str, str]) -> Seen:
    if not own:
        return skip("no port of the ranks has an IPv4 network")
    return fine(
        ", ".join(f"{hca} {network}" for hca, network in own.items()), "peers: the same port in the same network"
    )


def _networks(node: Node, cluster: Cluster) -> dict[str, str]:
    """Return the IPv4 network of each of the ranks' ports by its adapter's name."""
    net, found = node.facts.net, {}
    for each in ranks_ports(node, cluster):
        network = _network(net, each.netdevs) if net and each.port.link_layer != INFINIBAND else None
        if network:
            found[each.label] = network
    return found


def _network(net: Net, names: set[str]) -> str | None:
    on_link = [route.destination for route in net.routes if route.interface in names and route.gateway is None]
    found = [network for network in map(_parsed, on_link) if network and 0 < network.prefixlen < 32]
    return str(min(found, key=lambda network: network.prefixlen)) if len(found) == 1 else None


def _parsed(text: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        return None


def device_files(node: Node, cluster: Cluster) -> Seen:
    """Find device nodes of GPUs and adapters that the user may not open."""
    if cluster.policy.runtime != "host":
        return skip("the ranks run in containers, whose devices the engine gives them")
    if node.facts.devices is None:
        return unknown("nobody could look at the device nodes", "devices")
    used = [each for each in node.facts.devices if not each.path.rpartition("/")[2].startswith(("issm", "umad", "ucm"))]
    closed = [each for each in used if each.readable is False or each.writable is False]
    missing = _missing(node, {each.path for each in node.facts.devices})
    user = node.facts.user.name
    faults = [f"{each.path} (mode {each.mode or '?'}, group {each.gid}) is closed to {user}" for each in closed]
    faults += [f"{path} is missing" for path in missing]
    if faults:
        remedy = (
            "add the user to the group of the device nodes (video, render), "
            "or load the driver (nvidia-modprobe -u -c 0, modprobe ib_uverbs)"
        )
        return Seen("fail", "; ".join(faults[:6]), "device nodes that the ranks may read and write", "/dev", remedy)
    return fine(f"{len(used)} device nodes can be opened", "/dev") if used else skip("there is no such device node")


def _missing(node: Node, there: set[str]) -> list[str]:
    wanted = [each.hca.uverbs for each in ports_of(node.rdma) if each.hca.uverbs]
    if node.gpu is not None and node.gpu.count:
        wanted += ["/dev/nvidiactl", "/dev/nvidia-uvm"] if node.gpu.vendor == "nvidia" else []
        wanted += ["/dev/kfd"] if node.gpu.vendor == "amd" else []
    return [path for path in dict.fromkeys(wanted) if path not in there]
