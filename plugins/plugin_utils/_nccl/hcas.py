# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D2: which HCAs NCCL is meant to use.

NCCL takes every ACTIVE port: also the management port, also one that leads nowhere, and it cannot mix InfiniBand with
Ethernet. The compute ports are those of the fastest group of one link layer and rate, nearest to the GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._text.order import natural

from .._findings.finding import Finding
from .._findings.remedy import Option, sentence
from . import grammar
from .ports import ACTIVE, INFINIBAND, HcaPort, active, explain_shortly, openable, ports_of, usable, why_not
from .view import NodeView, NotSet, decided

RULE = "D2"
NAME = "NCCL_IB_HCA"
NEAR = ("PIX", "PXB")  # NCCL flattens two-level switches, so that nvidia-smi's PXB can be its PIX: one class


@dataclass(frozen=True)
class Choice:
    """The chosen ports in natural order, and in words what told them from the others."""

    ports: list[HcaPort]
    why: list[str]
    findings: list[Finding]
    by_user: bool = False

    @property
    def hcas(self) -> list[str]:
        return list(dict.fromkeys(each.hca.name for each in self.ports))


def choose(node: NodeView) -> Choice:
    """Choose a node's ports; a user's NCCL_IB_HCA is the choice, whatever it is."""
    given = node.given.get(NAME)
    if given is not None:
        taken = grammar.parse(given, node.library.version)
        ports = [each for each in openable(node.rdma) if taken.takes(each.hca.name, each.port.port)]
        return Choice(_in_order(ports), [], [], by_user=True)
    findings: list[Finding] = []
    why: list[str] = []
    candidates = _without_default_route(node, usable(node.rdma), why, findings)
    group = _fastest(node, candidates, why, findings)
    near = _nearest(node.gpu, group)
    if len(near) < len(group):
        far = _in_order(each for each in group if each not in near)
        why.append(f"{_labels(far)} no GPU has near (PIX or PXB)")
    chosen = _nameable(node, near, why, findings)
    findings += _down(node, chosen)
    return Choice(_in_order(chosen), why, findings)


def variables(node: NodeView, choice: Choice) -> tuple[list[Variable], list[NotSet]]:
    """Name the chosen ports, unless they are all that NCCL takes anyway."""
    if not choice.ports or choice.by_user:
        return [], []
    # Ports that cannot be opened here count too: a container that is given more would use them.
    taken = active(node.rdma)
    first = choice.ports[0].port
    plural = "" if len(choice.ports) == 1 else "s"
    shown = f"{len(choice.ports)} {first.link_layer} port{plural} of {_rate(first.rate_gbps)}"
    if {each.entry for each in taken} == {each.entry for each in choice.ports}:
        return [], [NotSet(NAME, RULE, f"NCCL takes all ACTIVE ports, and these are the {shown}")]
    if any(map(_unnameable, choice.ports)):
        return [], [NotSet(NAME, RULE, f"the list cannot hold a name with , or : ({_labels(choice.ports)})")]
    broken = _in_order(each for each in taken if why_not(each))
    without = [f"without {explain_shortly(broken)}"] if broken else []
    reason = "; ".join([shown, *choice.why, *without])
    return [decided(NAME, grammar.render(each.entry for each in choice.ports), RULE, reason)], []


def _without_default_route(
    node: NodeView, ports: list[HcaPort], why: list[str], findings: list[Finding]
) -> list[HcaPort]:
    """Leave out the port that carries the default route: it is the node's own network, not the compute fabric.

    However fast it is. It stays only where no other is usable: nodes with one NIC for everything.
    """
    route = node.net.default_route if node.net else None
    if route is None:
        return ports
    interface = route.interface
    names = {interface, interface.partition(".")[0]}  # a VLAN of it is on the same wire
    own = [each for each in ports if each.netdevs & names]
    rest = [each for each in ports if each not in own]
    if not own:
        return ports
    if rest:
        why.append(f"{_labels(own)} carries the default route ({interface})")
        return rest
    findings.append(
        Finding(
            check="hcas",
            node=node.name,
            status="warn",
            observed=f"{_labels(own)} carries the default route ({interface}), and no other RDMA port is usable",
            expected="RDMA ports apart from the node's own network",
            source="facts rdma, net",
            remedy=sentence(f"nothing, if one network is for all; else set {NAME} in ", Option.NODE_ENV),
        )
    )
    return ports


def _fastest(node: NodeView, ports: list[HcaPort], why: list[str], findings: list[Finding]) -> list[HcaPort]:
    """Return the group of the highest rate; at the same rate InfiniBand."""
    if not ports:
        return []

    def order(each: HcaPort) -> tuple[float, bool]:
        return each.rate, each.port.link_layer == INFINIBAND

    best = order(max(ports, key=order))
    group = [each for each in ports if order(each) == best]
    others = _in_order(each for each in ports if each not in group)
    slower = [each for each in others if each.port.link_layer == INFINIBAND]
    if slower and not best[1]:
        findings.append(_slow_infiniband(node, slower, group))
    for each_rate, is_infiniband in sorted({order(each) for each in others}, reverse=True):
        these = [each for each in others if order(each) == (each_rate, is_infiniband)]
        layer = f"{these[0].port.link_layer} " if is_infiniband != best[1] else ""
        why.append(f"{_labels(these)}: {layer}{_rate(each_rate)}")
    return group


def _nearest(gpu: Gpu | None, group: list[HcaPort]) -> list[HcaPort]:
    """Keep the ports that a GPU has near, if every GPU has one; else NCCL finds each GPU's nearest by itself.

    On VMs and on GB200 no port is near, and nearness tells nothing. It does tell the storage adapters of a DGX A100
    from the compute ones, which have the same rate.
    """
    if gpu is None or not group:
        return group
    names = {each.hca.name for each in group}
    near: dict[int, set[str]] = {}
    for link in gpu.nic_links:
        name = gpu.nics.get(link.nic, link.nic)
        if link.relation in NEAR and name in names:
            near.setdefault(link.gpu, set()).add(name)
    gpus = {device.index for device in gpu.devices} or set(range(gpu.count))
    if not gpus or not gpus <= near.keys():
        return group
    of_any = set().union(*(near[index] for index in gpus))
    return [each for each in group if each.hca.name in of_any]


def _nameable(node: NodeView, ports: list[HcaPort], why: list[str], findings: list[Finding]) -> list[HcaPort]:
    """Leave out ports that NCCL_IB_HCA cannot name, where it has to name some; they stay where no other is left."""
    bad = [each for each in ports if _unnameable(each)]
    if not bad or {each.label for each in ports} == {each.label for each in active(node.rdma)}:
        return ports
    rest = [each for each in ports if each not in bad]
    done = "they are left out" if rest else f"{NAME} is not set, so that NCCL takes every ACTIVE port"
    findings.append(
        Finding(
            check="hcas",
            node=node.name,
            status="warn",
            observed=f"{NAME} cannot name {_labels(_in_order(bad))}: {done}",
            expected="names of RDMA devices without , and :",
            source="facts rdma",
            remedy="rename the device (rdma dev set DEVICE name NAME)",
        )
    )
    if rest:
        why.append(f"{_labels(_in_order(bad))} cannot be named in the list")
    return rest or ports


def _unnameable(each: HcaPort) -> bool:
    return not {",", ":"}.isdisjoint(each.hca.name)


def _down(node: NodeView, chosen: Sequence[HcaPort]) -> list[Finding]:
    """Find ports of the chosen kind that lost their link or their subnet manager."""
    kinds = {_kind(each) for each in chosen} - {None}
    cards = {each.hca.name for each in chosen}
    lost = [
        each
        for each in ports_of(node.rdma)
        if (each.port.state != ACTIVE or _unmanaged(each)) and each.hca.name not in cards and _kind(each) in kinds
    ]
    if not lost:
        return []
    seen = [
        f"{each.label} {each.port.state or 'unknown'}, "
        f"{'sm_lid 0' if _unmanaged(each) else each.port.phys_state or 'unknown'}"
        for each in lost
    ]
    return [
        Finding(
            check="hcas",
            node=node.name,
            status="warn",
            observed=f"ports of the same kind as the {len(chosen)} in use do not work: {'; '.join(seen)}",
            expected="all ACTIVE, on InfiniBand with a subnet manager, or not cabled on purpose",
            source="facts rdma",
            remedy="look at cable, switch port and, on InfiniBand, the subnet manager",
        )
    ]


def _unmanaged(each: HcaPort) -> bool:
    """Say whether it is an InfiniBand port that is up without a subnet manager: it reaches nobody."""
    return each.port.state == ACTIVE and each.port.link_layer == INFINIBAND and each.port.sm_lid == 0


def _kind(each: HcaPort) -> tuple[str | None, ...] | None:
    """Name the kind of a card, chip and board (storage cards may have the chip alone in common); None if unknown."""
    kind = (each.hca.hca_type, each.hca.board_id)
    return (*kind, each.port.link_layer) if any(kind) else None


def _slow_infiniband(node: NodeView, slower: list[HcaPort], group: list[HcaPort]) -> Finding:
    first = group[0].port
    return Finding(
        check="hcas",
        node=node.name,
        status="fail",
        observed=f"InfiniBand ({_labels(slower)}, {_rate(slower[0].rate)}) is slower than "
        f"{first.link_layer} ({_labels(_in_order(group))}, {_rate(first.rate_gbps)})",
        expected="one fabric that is clearly for the ranks",
        source="facts rdma",
        remedy=sentence(f"say which: set {NAME} in ", Option.ENV, " or ", Option.NODE_ENV, ", or ", Option.MODE_TCP),
    )


def _in_order(ports: Iterable[HcaPort]) -> list[HcaPort]:
    return sorted(ports, key=lambda each: (natural(each.hca.name), each.port.port))


def _labels(ports: Sequence[HcaPort]) -> str:
    return ", ".join(each.label for each in ports)


def _rate(rate: float | None) -> str:
    return f"{rate:g} Gb/s" if rate else "unknown rate"
