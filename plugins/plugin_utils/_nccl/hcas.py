# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D2: which HCAs NCCL is meant to use.

NCCL takes every ACTIVE port, even the management port or one that leads nowhere, and cannot mix InfiniBand with
Ethernet. The compute ports are the fastest group of one link layer and rate, nearest to the GPUs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
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
NEAR = ("PIX", "PXB")  # one class: NCCL flattens two-level switches, so nvidia-smi's PXB can be its PIX


@frozen
class HcaChoice:
    """The chosen ports in natural order, and why the others were left out."""

    ports: list[HcaPort]
    why: list[str]
    findings: list[Finding]
    by_user: bool = False

    @property
    def hcas(self) -> list[str]:
        return list(dict.fromkeys(nic.hca.name for nic in self.ports))


def choose(node: NodeView) -> HcaChoice:
    """Choose a node's ports; if the user sets NCCL_IB_HCA, those that it takes."""
    value = node.user_values.get(NAME)
    if value is not None:
        devices = grammar.parse(value, node.library.version)
        ports = [nic for nic in openable(node.rdma) if devices.takes(nic.hca.name, nic.port.port)]
        return HcaChoice(_in_order(ports), [], [], by_user=True)
    findings: list[Finding] = []
    why: list[str] = []
    candidates = _without_default_route(node, usable(node.rdma), why, findings)
    group = _fastest(node, candidates, why, findings)
    near = _nearest(node.gpu, group)
    if len(near) < len(group):
        why.append(f"{_labels(_in_order(nic for nic in group if nic not in near))}: not near any GPU (PIX or PXB)")
    chosen = _nameable(node, near, why, findings)
    findings += [*_without_address(node, chosen), *_down(node, chosen), *_unlike_sisters(node, candidates, chosen)]
    return HcaChoice(_in_order(chosen), why, findings)


def variables(node: NodeView, choice: HcaChoice) -> tuple[list[Variable], list[NotSet]]:
    """Name the chosen ports, unless NCCL takes exactly these anyway."""
    if not choice.ports or choice.by_user:
        return [], []
    # Ports that cannot be opened here count, too: a container with more devices would use them.
    taken = active(node.rdma)
    first = choice.ports[0].port
    plural = "" if len(choice.ports) == 1 else "s"
    summary = f"{len(choice.ports)} {first.link_layer} port{plural} of {_rate(first.rate_gbps)}"
    if {nic.entry for nic in taken} == {nic.entry for nic in choice.ports}:
        return [], [NotSet(NAME, RULE, f"NCCL takes all ACTIVE ports, and these are the {summary}")]
    if any(map(_unnameable, choice.ports)):
        return [], [NotSet(NAME, RULE, f"the list cannot hold a name with , or : ({_labels(choice.ports)})")]
    broken = _in_order(nic for nic in taken if why_not(nic))
    reason = "; ".join([summary, *choice.why, *([f"without {explain_shortly(broken)}"] if broken else [])])
    return [decided(NAME, grammar.render(nic.entry for nic in choice.ports), RULE, reason)], []


def _without_default_route(
    node: NodeView, ports: list[HcaPort], why: list[str], findings: list[Finding]
) -> list[HcaPort]:
    """Leave out the port of the default route, however fast: it is the node's own network, not the compute fabric.

    It stays if no other port is usable, on nodes with one NIC for everything. InfiniBand stays in any case: IPoIB is on
    the compute fabric itself.
    """
    route = node.net.default_route if node.net else None
    if route is None:
        return ports
    names = {route.interface, route.interface.partition(".")[0]}  # a VLAN is on the same wire as its parent
    carriers = [nic for nic in ports if nic.port.link_layer != INFINIBAND and nic.netdevs & names]
    if not carriers:
        return ports
    carries = f"{_labels(carriers)} carries the default route ({route.interface})"
    if rest := [nic for nic in ports if nic not in carriers]:
        why.append(carries)
        return rest
    observed = f"{carries}, and no other RDMA port is usable"
    expected = "RDMA ports other than the node's own network"
    remedy = sentence(f"nothing if one network is for everything; otherwise set {NAME} in ", Option.NODE_ENV)
    findings.append(Finding("rdma ports", node.name, "warn", observed, expected, "facts rdma, net", remedy))
    return ports


def _fastest(node: NodeView, ports: list[HcaPort], why: list[str], findings: list[Finding]) -> list[HcaPort]:
    """Return the group of the highest rate; at the same rate InfiniBand."""
    if not ports:
        return []

    def order(nic: HcaPort) -> tuple[float, bool]:
        return nic.rate, nic.port.link_layer == INFINIBAND

    best = order(max(ports, key=order))
    group = [nic for nic in ports if order(nic) == best]
    others = _in_order(nic for nic in ports if nic not in group)
    slower = [nic for nic in others if nic.port.link_layer == INFINIBAND]
    if slower and not best[1]:
        findings.append(_slow_infiniband(node, slower, group))
    for rate, is_infiniband in sorted({order(nic) for nic in others}, reverse=True):
        alike = [nic for nic in others if order(nic) == (rate, is_infiniband)]
        layer = f"{alike[0].port.link_layer} " if is_infiniband != best[1] else ""
        why.append(f"{_labels(alike)}: {layer}{_rate(rate)}")
    return group


def _nearest(gpu: Gpu | None, group: list[HcaPort]) -> list[HcaPort]:
    """Keep the ports near a GPU if every GPU has one; otherwise NCCL finds each GPU's nearest port on its own.

    This separates a DGX A100's storage adapters from its compute adapters, which have the same rate. On VMs and on
    GB200 no port is near.
    """
    near = near_hcas(gpu, {nic.hca.name for nic in group})
    return [nic for nic in group if nic.hca.name in near] if near else group


def near_hcas(gpu: Gpu | None, names: Collection[str]) -> set[str]:
    """Return those of these HCAs that are near a GPU if every GPU has one, else none."""
    if gpu is None:
        return set()
    near: dict[int, set[str]] = {}
    for link in gpu.nic_links:
        name = gpu.nics.get(link.nic, link.nic)
        if link.relation in NEAR and name in names:
            near.setdefault(link.gpu, set()).add(name)
    gpus = {device.index for device in gpu.devices} or set(range(gpu.count))
    return set().union(*(near[index] for index in gpus)) if gpus and gpus <= near.keys() else set()


def _nameable(node: NodeView, ports: list[HcaPort], why: list[str], findings: list[Finding]) -> list[HcaPort]:
    """Leave out ports that NCCL_IB_HCA cannot name if it has to name some, unless no other port remains."""
    bad = [nic for nic in ports if _unnameable(nic)]
    if not bad or {nic.label for nic in ports} == {nic.label for nic in active(node.rdma)}:
        return ports
    rest = [nic for nic in ports if nic not in bad]
    effect = "left out of it" if rest else f"{NAME} is not set, so NCCL takes every ACTIVE port"
    observed = f"{NAME} cannot name {_labels(_in_order(bad))}: {effect}"
    expected = "names of RDMA devices without , and :"
    remedy = "rename the device (rdma dev set DEVICE name NAME)"
    findings.append(Finding("rdma ports", node.name, "warn", observed, expected, "facts rdma", remedy))
    if rest:
        why.append(f"{_labels(_in_order(bad))} cannot be named in the list")
    return rest or ports


def _unnameable(nic: HcaPort) -> bool:
    return not {",", ":"}.isdisjoint(nic.hca.name)


def _without_address(node: NodeView, chosen: Sequence[HcaPort]) -> list[Finding]:
    """Report RoCE ports of the chosen kind that are only left out because their interface has no address.

    The two functions of a port (DGX Spark) are two HCAs: with an address for one of them, NCCL has half of the cable.
    """
    kinds = {_kind(nic) for nic in chosen} - {None}
    cards = {nic.hca.name for nic in chosen}
    rate = max((nic.rate for nic in chosen), default=0.0)
    bare = _in_order(
        nic
        for nic in openable(node.rdma)
        if nic.port.link_layer != INFINIBAND and nic.port.netdev and nic.hca.name not in cards and nic.rate == rate
        if _kind(nic) in kinds and nic.port.gids and not any(gid.family for gid in nic.port.gids)
    )
    if not bare:
        return []
    one = len(bare) == 1
    interfaces = ", ".join(str(nic.port.netdev) for nic in bare)
    observed = (
        f"{_labels(bare)} {'is' if one else 'are'} ACTIVE and of the same kind as {_count(chosen)}, but left out: "
        f"{interfaces} {'has' if one else 'have'} no address"
    )
    expected = "an address for every port that is for the ranks"
    remedy = sentence(
        f"give {interfaces} an address on every node, each port in a subnet of its own (netplan, nmcli); if the port "
        f"is not for the ranks, set {NAME} in ",
        Option.NODE_ENV,
    )
    return [Finding("rdma ports", node.name, "warn", observed, expected, "facts rdma", remedy)]


def _down(node: NodeView, chosen: Sequence[HcaPort]) -> list[Finding]:
    """Report ports of the chosen kind that lost their link or their subnet manager."""
    kinds = {_kind(nic) for nic in chosen} - {None}
    cards = {nic.hca.name for nic in chosen}
    lost = [
        nic
        for nic in ports_of(node.rdma)
        if (nic.port.state != ACTIVE or _unmanaged(nic)) and nic.hca.name not in cards and _kind(nic) in kinds
    ]
    if not lost:
        return []
    states = "; ".join(
        f"{nic.label} {nic.port.state or 'unknown'}, "
        f"{'sm_lid 0' if _unmanaged(nic) else nic.port.phys_state or 'unknown'}"
        for nic in lost
    )
    observed = f"ports of the same kind as {_count(chosen)} do not work: {states}"
    expected = "all ACTIVE, on InfiniBand with a subnet manager, or deliberately not cabled"
    remedy = "check the cable, the switch port and, on InfiniBand, the subnet manager"
    return [Finding("rdma ports", node.name, "warn", observed, expected, "facts rdma", remedy)]


def _unlike_sisters(node: NodeView, candidates: Sequence[HcaPort], chosen: Sequence[HcaPort]) -> list[Finding]:
    """Report ports of the chosen kind that were left out: with a lower rate (lost lanes), or with the default route."""
    kinds = {_kind(nic) for nic in chosen} - {None}
    cards = {nic.hca.name for nic in chosen}
    sisters = [nic for nic in usable(node.rdma) if nic.hca.name not in cards and _kind(nic) in kinds]
    rate = max((nic.rate for nic in chosen), default=0.0)
    count = _count(chosen)
    findings = []
    if slow := _in_order(nic for nic in sisters if nic in candidates and nic.rate < rate):
        rates = ", ".join(f"{nic.label} {_rate(nic.rate)}" for nic in slow)
        observed = f"slower than {count} of the same kind, and left out: {rates}"
        remedy = "check the cable and the switch port: a link may have lost lanes, or both ends agreed on less"
        findings.append(Finding("rdma ports", node.name, "warn", observed, _rate(rate), "facts rdma", remedy))
    if carriers := _in_order(nic for nic in sisters if nic not in candidates and nic.rate == rate):
        why = "is left out because it has" if len(carriers) == 1 else "are left out because they have"
        observed = f"{_labels(carriers)}, of the same kind as {count}, {why} the default route"
        expected = "the default route on the node's own network, or a port that is not meant for the ranks"
        move = sentence(f"move the default route to another interface, or set {NAME} in ", Option.NODE_ENV)
        findings.append(Finding("rdma ports", node.name, "warn", observed, expected, "facts rdma, net", move))
    return findings


def _count(chosen: Sequence[HcaPort]) -> str:
    return f"the {'one' if len(chosen) == 1 else len(chosen)} in use"


def _unmanaged(nic: HcaPort) -> bool:
    """Return whether it is an active InfiniBand port without a subnet manager, which cannot reach other ports."""
    return nic.port.state == ACTIVE and nic.port.link_layer == INFINIBAND and nic.port.sm_lid == 0


def _kind(nic: HcaPort) -> tuple[str | None, ...] | None:
    """Return a card's kind, chip and board (storage cards may share only the chip); None if unknown."""
    kind = (nic.hca.hca_type, nic.hca.board_id)
    return (*kind, nic.port.link_layer) if any(kind) else None


def _slow_infiniband(node: NodeView, slower: list[HcaPort], group: list[HcaPort]) -> Finding:
    first = group[0].port
    observed = (
        f"InfiniBand ({_labels(slower)}, {_rate(slower[0].rate)}) is slower than "
        f"{first.link_layer} ({_labels(_in_order(group))}, {_rate(first.rate_gbps)})"
    )
    expected = "one fabric that is clearly for the ranks"
    remedy = sentence(f"say which: set {NAME} in ", Option.ENV, " or ", Option.NODE_ENV, ", or ", Option.MODE_TCP)
    return Finding("rdma ports", node.name, "fail", observed, expected, "facts rdma", remedy)


def _in_order(ports: Iterable[HcaPort]) -> list[HcaPort]:
    return sorted(ports, key=lambda nic: (natural(nic.hca.name), nic.port.port))


def _labels(ports: Sequence[HcaPort]) -> str:
    return ", ".join(nic.label for nic in ports)


def _rate(rate: float | None) -> str:
    return f"{rate:g} Gb/s" if rate else "unknown rate"
