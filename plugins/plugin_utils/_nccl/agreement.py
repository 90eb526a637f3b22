# SPDX-License-Identifier: GPL-3.0-or-later
"""Can the ranks of all nodes work together? Their libraries, their ports (D2) and their GIDs' address families (D3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._cluster.peers import usual
from .._findings.finding import Finding, Status
from .._findings.remedy import Option, sentence
from .._text.table import node_names
from . import gid
from .hcas import NAME, HcaChoice
from .ports import ETHERNET
from .view import NodeView, version_text

HcaKind = tuple[int, tuple[str, ...], tuple[float, ...]]


def libraries(nodes: Sequence[NodeView]) -> list[Finding]:
    """Report nodes whose GPUs need another library, or that have another release of it, than most nodes."""
    by_node = {node.name: node.library for node in nodes if node.gpu is not None and node.gpu.count}
    peers = usual({name: library.name for name, library in by_node.items()})
    if peers is not None and peers.odd:
        most = peers.value.upper()
        observed = (
            f"its GPUs need {'NCCL' if most == 'RCCL' else 'RCCL'}, whose ranks cannot connect to those of {most}"
        )
        remedy = "take the nodes of one kind out of the group nodes"
        return [
            Finding("environment", name, "fail", observed, f"{most}, {peers.source}", "facts gpu, versions", remedy)
            for name in peers.odd
        ]
    releases = usual({name: library.version[:2] for name, library in by_node.items() if library.version})
    if releases is None:
        return []
    expected = f"{version_text(by_node[releases.nodes[0]])}, {releases.source}: two releases may not work together"
    remedy = "install the same release on all nodes"
    return [
        Finding("environment", name, "warn", version_text(by_node[name]), expected, "facts versions", remedy)
        for name in releases.odd
    ]


def ports(choices: Mapping[str, HcaChoice]) -> list[Finding]:
    """Report nodes whose chosen ports differ from most nodes' in number, link layer or rate.

    InfiniBand and Ethernet cannot communicate. Another number or rate is a lost link or another kind of machine; if
    users named the ports, it is deliberate, and a warning.
    """
    kinds = {node: _kind(choice) for node, choice in choices.items() if choice.ports}
    peers = usual(kinds)
    if peers is None:
        return []
    by_user = any(choice.by_user for choice in choices.values())
    remedy = sentence(
        f"repair the missing link, take the node out of the group nodes, or set {NAME} on both kinds of node in ",
        Option.NODE_ENV,
    )
    findings = []
    for node in peers.odd:
        status: Status = "warn" if by_user and kinds[node][1] == peers.value[1] else "fail"
        observed = f"{_text(kinds[node])} for the ranks ({', '.join(nic.label for nic in choices[node].ports)})"
        source = f"{NAME} as set" if choices[node].by_user else "facts rdma"
        findings.append(
            Finding("rdma ports", node, status, observed, f"{_text(peers.value)}, {peers.source}", source, remedy)
        )
    return findings


def _kind(choice: HcaChoice) -> HcaKind:
    layers = {nic.port.link_layer or "unknown" for nic in choice.ports}
    return len(choice.ports), tuple(sorted(layers)), tuple(sorted({nic.rate for nic in choice.ports}))


def _text(kind: HcaKind) -> str:
    count, layers, rates = kind
    shown = f"{count} {' and '.join(layers)} port{'' if count == 1 else 's'}"
    return f"{shown} of {' and '.join(f'{rate:g}' for rate in rates)} Gb/s"


def families(nodes: Sequence[NodeView], choices: Mapping[str, HcaChoice]) -> list[Finding]:
    """Report nodes whose RoCE GIDs are IPv6 only while others have IPv4: they cannot reach each other."""
    by_node = {
        node.name: gid.family_of(node, choices[node.name].ports)
        for node in nodes
        if any(nic.port.link_layer == ETHERNET and nic.port.gids for nic in choices[node.name].ports)
    }
    ipv4 = [node for node, family in by_node.items() if family == 4]
    if not ipv4:
        return []
    observed, expected = "its RoCE v2 GIDs are IPv6 only", f"IPv4, as on {node_names(ipv4)}"
    remedy = "give the ports' network devices IPv4 addresses, or take the node out of the group nodes"
    return [
        Finding("gids", node, "fail", observed, expected, "facts rdma", remedy)
        for node, family in by_node.items()
        if family == 6
    ]
