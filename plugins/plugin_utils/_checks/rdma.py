# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the RDMA ports work, and can they reach each other?

The environment's rules (`_nccl/environments.py`) choose the ranks' ports and GIDs, and find nodes that do not fit
together; these checks report their findings, and compare the ports with the inventory's profile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .._cluster.node import Node
from .._cluster.peers import usual
from .._findings.finding import Finding
from .._findings.remedy import CABLE
from .._nccl.gid_table import Network
from .._nccl.ports import INFINIBAND, ports_of, usable
from .comparison import ranks_ports
from .model import IN_CONTAINER, Cluster, Judge, Outcome, Outcomes, completed, failed, passed, skipped, unavailable
from .policy import PROFILE

NO_RDMA = "there is no RDMA device"
NONE_USABLE = "there is no usable RDMA port"
NOT_READ = "the RDMA devices could not be read"
# The threshold of each counter; other counters are not judged.
COUNTERS = {
    "link_downed": "link_downed",
    "symbol_error": "symbol_error",
    "local_link_integrity_errors": "other_errors",
    "excessive_buffer_overrun_errors": "other_errors",
}
PROFILE_KEYS = ("rdma_ports", "rdma_rate_gbps", "link_layer")
SAME_NETWORK = "peers: the same port in the same network"


def decided(name: str, otherwise: Callable[[Node, Cluster], Outcome]) -> Judge:
    """Make a check of the findings that the environment's rules report under its name."""

    def judge(cluster: Cluster) -> Outcomes:
        findings = [item for item in cluster.decided if item.check == name and not _follows(item, cluster)]
        outcomes = [(finding.node, Outcome.of(finding)) for finding in findings]
        return completed(cluster, outcomes, lambda node: otherwise(node, cluster))

    return judge


def _follows(finding: Finding, cluster: Cluster) -> bool:
    """Whether a node's ranks have different ports only because its GPUs differ, which another check reports."""
    if finding.check != "rdma ports" or finding.status != "fail" or not cluster.chosen.get(finding.node or ""):
        return False
    ports = usual({name: _ports(node) for name, node in cluster.nodes.items()})
    gpus = usual({name: _gpus(node) for name, node in cluster.nodes.items()})
    return ports is not None and gpus is not None and finding.node not in ports.odd and finding.node in gpus.odd


def _ports(node: Node) -> tuple[object, ...]:
    return tuple((port.label, port.rate, port.port.link_layer) for port in usable(node.rdma))


def _gpus(node: Node) -> tuple[int, int]:
    return (node.gpu.count, len(node.gpu.devices)) if node.gpu else (0, 0)


def ports(node: Node, cluster: Cluster) -> Outcome:
    """Describe the ranks' ports, and compare them with the profile."""
    if node.rdma is None:
        return unavailable(NOT_READ, "rdma")
    ports, profile = ranks_ports(node, cluster), cluster.checks.expected
    keys = [key for key in PROFILE_KEYS if key in profile]
    if not ports and not keys:
        return skipped(NONE_USABLE if node.rdma.hcas else NO_RDMA)
    count, rate, layer = values = (
        str(len(ports)),
        " and ".join(sorted({f"{port.rate:g}" for port in ports})),
        " and ".join(sorted({port.port.link_layer or "unknown" for port in ports})),
    )
    observed = f"{count} {layer} ports of {rate} Gb/s" if ports else NONE_USABLE
    texts = {key: f"{profile[key]:g}" if isinstance(profile[key], float) else str(profile[key]) for key in keys}
    expected = ", ".join(f"{key} {text}" for key, text in texts.items())
    source = ", ".join(f"{PROFILE}.{key}" for key in keys)
    actual = dict(zip(PROFILE_KEYS, values, strict=True))
    if any(actual[key] != text for key, text in texts.items()):
        return failed(observed, expected, source, CABLE)
    return passed(observed, source or "facts rdma", expected)


def gids(node: Node, cluster: Cluster) -> Outcome:
    """List the RoCE v2 entries of the ranks' ports."""
    ports = [port for port in ranks_ports(node, cluster) if port.port.link_layer != INFINIBAND]
    if not ports:
        return skipped("no port of the ranks is RoCE")
    chosen = {port.label: port.port.rocev2_gid_index for port in ports} | dict(cluster.gids.get(node.name, {}))
    texts = [f"{port.label} {'none' if chosen[port.label] is None else chosen[port.label]}" for port in ports]
    return passed(", ".join(texts), "gid_attrs/types")


def rules(_node: Node, cluster: Cluster) -> Outcome:
    """Return the outcome of rules without a finding."""
    return passed(f"fabric {cluster.fabric}" if cluster.fabric else "no fabric was chosen")


def counters(node: Node, cluster: Cluster) -> Outcome:
    """Find ports with errors above the thresholds."""
    if node.rdma is None:
        return unavailable(NOT_READ, "rdma")
    ports, checks = ranks_ports(node, cluster), cluster.checks
    if not ports:
        return skipped(NONE_USABLE if node.rdma.hcas else NO_RDMA)
    values = [(port, name, value) for port in ports for name, value in port.port.counters.items() if name in COUNTERS]
    if not values:
        return skipped("the ports have no counters")
    high = [item for item in values if item[2] > checks.threshold(COUNTERS[item[1]])]
    if not high:
        return passed(f"{len(values)} counters on {len(ports)} ports are within their thresholds", "sysfs counters")
    return failed(
        "; ".join(f"{port.label} {name} {value}" for port, name, value in high[:8]),
        "fewer errors since the driver was loaded",
        "; ".join(dict.fromkeys(checks.source(COUNTERS[name]) for _port, name, _value in high)),
        "clean or replace cable and transceiver; if the errors are old, reset the counters (perfquery -R), check again",
    )


def rails(cluster: Cluster) -> Outcomes:
    """Find nodes whose ports are in different networks from the ports of the same name on other nodes."""
    networks = {name: _networks(node, cluster) for name, node in cluster.nodes.items()}
    odd: dict[str, list[tuple[str, str]]] = {}
    for hca in dict.fromkeys(hca for by_hca in networks.values() for hca in by_hca):
        values = {name: by_hca[hca] for name, by_hca in networks.items() if hca in by_hca}
        peers = usual(values)
        # If every port of every node has a network to itself, switches route between them.
        others = {network for by_hca in networks.values() for other, network in by_hca.items() if other != hca}
        if peers is None or (len(peers.nodes) < 2 and not others & set(values.values())):
            continue
        for name in peers.odd:
            odd.setdefault(name, []).append((f"{hca} {values[name]}", f"{hca} {peers.value}"))
    remedy = "correct the addresses, or swap the cables of these ports"
    outcomes = []
    for name, pairs in odd.items():
        observed, expected = (", ".join(column) for column in zip(*pairs, strict=True))
        outcomes.append((name, failed(observed, expected, SAME_NETWORK, remedy)))
    return completed(cluster, outcomes, lambda node: _rail(networks[node.name]))


def _rail(networks: Mapping[str, Network]) -> Outcome:
    if not networks:
        return skipped("no port of the ranks has a network")
    return passed(", ".join(f"{hca} {network}" for hca, network in networks.items()), SAME_NETWORK)


def _networks(node: Node, cluster: Cluster) -> dict[str, Network]:
    """Return the network of each of the ranks' ports by its label; an address that is alone on its link has none."""
    known, ports = cluster.networks.get(node.name, {}), [port.label for port in ranks_ports(node, cluster)]
    return {label: known[label] for label in ports if label in known and known[label].num_addresses > 1}


def device_files(node: Node, cluster: Cluster) -> Outcome:
    """Find device nodes of GPUs and adapters that the user may not open."""
    if cluster.in_engine:
        return skipped(f"{IN_CONTAINER}, whose devices the engine gives them")
    files = node.facts.devices
    if files is None:
        return unavailable("the device nodes could not be read", "devices")
    used = [file for file in files if not file.path.rpartition("/")[2].startswith(("issm", "umad", "ucm"))]
    closed = [file for file in used if file.readable is False or file.writable is False]
    user = node.facts.user.name
    faults = [f"{file.path} (mode {file.mode or '?'}, group {file.gid}) is closed to {user}" for file in closed]
    faults += [f"{path} is missing" for path in _required(node) if path not in {file.path for file in files}]
    if faults:
        remedy = (
            "add the user to the group of the device nodes (video, render), "
            "or load the driver (nvidia-modprobe -u -c 0, modprobe ib_uverbs)"
        )
        return failed("; ".join(faults[:6]), "device nodes that the ranks may read and write", "/dev", remedy)
    return (
        passed(f"{len(used)} device nodes can be opened", "/dev") if used else skipped("there is no such device node")
    )


def _required(node: Node) -> list[str]:
    """Return the paths without duplicates."""
    vendor = node.gpu.vendor if node.gpu is not None and node.gpu.count else None
    paths = [port.hca.uverbs for port in ports_of(node.rdma) if port.hca.uverbs]
    gpu_paths = {"nvidia": ["/dev/nvidiactl", "/dev/nvidia-uvm"], "amd": ["/dev/kfd"]}
    return list(dict.fromkeys([*paths, *gpu_paths.get(vendor or "", [])]))
