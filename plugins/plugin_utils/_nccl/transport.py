# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule D1: RDMA or TCP, the same on all nodes.

NCCL decides for each process separately: with RDMA on some nodes only, they could not connect. So NCCL_IB_DISABLE=1 is
set on all nodes or on none, and only for TCP: 0 is the default. TCP that was not requested is a warning on every node
with GPUs, because runs have been slow for days before anyone noticed. If most nodes have RDMA, those without are
refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca

from .._findings.finding import Finding
from .._findings.origin import FABRIC
from .._findings.remedy import Option, Remedy, sentence
from .._text.table import node_names
from .ports import ACTIVE, explain, is_efa, is_software, ports_of, usable
from .view import Fabric, FabricPolicy, NodeView, NotSet, decided

RULE = "D1"
RdmaKind = Literal["verbs", "efa", "none", "unknown"]
USABLE: tuple[RdmaKind, ...] = ("verbs", "efa")


def kind(node: NodeView) -> RdmaKind:
    """Return what a node has for RDMA; EFA counts only if NCCL can use nothing else."""
    if node.rdma is None:
        return "unknown"
    if usable(node.rdma):
        return "verbs"
    return "efa" if any(is_efa(nic.hca) and nic.port.state == ACTIVE for nic in ports_of(node.rdma)) else "none"


def decide(nodes: Sequence[NodeView], policy: FabricPolicy) -> tuple[Fabric, list[Finding]]:
    """Choose the fabric. Under mode=rdma a node without usable RDMA is an error, never a silent fallback."""
    if policy.mode == "tcp":
        return Fabric("tcp", f"mode=tcp ({policy.origin})"), []
    kinds = {node.name: kind(node) for node in nodes}
    findings = [_unknown(node, policy) for node in nodes if kinds[node.name] == "unknown"]
    without = [node for node in nodes if kinds[node.name] == "none"]
    with_efa = [node for node in nodes if kinds[node.name] == "efa"]
    with_verbs = [node for node in nodes if kinds[node.name] == "verbs"]
    if policy.mode == "rdma":
        fabric = Fabric("rdma", f"mode=rdma ({policy.origin})")
        findings += [_no_rdma(node, policy) for node in without]
        if with_efa and with_verbs:
            findings += [_two_kinds(node, with_verbs) for node in with_efa]
    elif with_verbs and not without and not with_efa:
        fabric = Fabric("rdma", "every node has usable RDMA ports")
    elif with_efa and not without and not with_verbs:
        fabric = Fabric("rdma", "every node has EFA devices, which NCCL uses through the plugin aws-ofi-nccl")
    elif not with_verbs and not with_efa:
        fabric = Fabric("tcp", f"no node has {'a usable RDMA port' if any(map(_hcas, nodes)) else 'RDMA devices'}")
        expected = "usable RDMA, or mode=tcp if TCP is intended"
        slow = [node for node in without if node.has_gpus or not all(map(is_software, _hcas(node)))]
        findings += [_over_tcp(node, ": the nodes communicate over TCP", expected) for node in slow]
    elif (most := _most(kinds)) is not None:
        # A few nodes must not move all others to TCP: they are refused, and spares may take their places.
        devices = "usable RDMA ports" if most == "verbs" else "EFA devices"
        fabric = Fabric("rdma", f"most nodes have {devices}")
        odd = [node for node in nodes if kinds[node.name] not in (most, "unknown")]
        findings += [_in_minority(node, most) for node in odd]
    elif without:
        fabric = Fabric("tcp", f"no usable RDMA on {node_names([node.name for node in without])}")
        findings += [_mixed(node) for node in without]
    else:
        fabric = Fabric(
            "tcp", f"EFA alone on {node_names([node.name for node in with_efa])}, and not on the other nodes"
        )
        findings += [_mixed(node) for node in with_efa]
    if fabric.value == "rdma":
        refused = {finding.node for finding in findings if finding.stops}
        findings += [_needs_plugin(node) for node in with_efa if node.name not in refused]
    return fabric, findings


def _most(kinds: Mapping[str, RdmaKind]) -> RdmaKind | None:
    """Return the kind of RDMA that more than half of the nodes have."""
    counts = Counter(kinds.values())
    return next((kind for kind in USABLE if 2 * counts[kind] > len(kinds)), None)


def has_efa(nodes: Sequence[NodeView]) -> bool:
    """Return whether any of the nodes has EFA devices."""
    return any(is_efa(hca) for node in nodes for hca in _hcas(node))


def variables(
    node: NodeView, any_efa: bool, fabric: Fabric, policy: FabricPolicy
) -> tuple[list[Variable], list[NotSet]]:
    """Disable what must not be used; any_efa is whether any node has EFA devices."""
    if fabric.value == "rdma":
        if kind(node) == "efa":
            return [], []
        used = "RDMA is used" if kind(node) == "verbs" else "RDMA was requested and is not usable here"
        return [], [NotSet("NCCL_IB_DISABLE", RULE, f"{used}, and 0 is the default")]
    origin = policy.origin if policy.mode == "tcp" else FABRIC
    result = [decided("NCCL_IB_DISABLE", "1", RULE, f"tcp on all nodes: {fabric.reason}", origin)]
    if any_efa:
        reason = "tcp on all nodes: keeps the plugin off EFA devices"
        result.append(decided("NCCL_NET", "Socket", RULE, reason, origin))
    return result, []


def _hcas(node: NodeView) -> list[Hca]:
    return node.rdma.hcas if node.rdma else []


def _observed(node: NodeView) -> str:
    hcas = _hcas(node)
    if not hcas:
        return "no RDMA device under /sys/class/infiniband"
    return f"no usable RDMA port ({explain(ports_of(node.rdma), [hca for hca in hcas if not hca.ports])})"


def _remedy(node: NodeView) -> Remedy:
    if node.container and _hcas(node):
        return sentence("give the container /dev/infiniband and the adapter's network device, or ", Option.MODE_TCP)
    if _hcas(node):
        return sentence("fix these devices, take the node out of the group nodes, or ", Option.MODE_TCP)
    return sentence("load the adapter's driver, take the node out of the group nodes, or ", Option.MODE_TCP)


def _no_rdma(node: NodeView, policy: FabricPolicy) -> Finding:
    source = policy.origin.label
    return Finding("rdma ports", node.name, "fail", _observed(node), "usable RDMA, as mode=rdma", source, _remedy(node))


def _mixed(node: NodeView) -> Finding:
    return _over_tcp(node, ", while other nodes have usable RDMA", "usable RDMA on all nodes or on none; all use tcp")


def _over_tcp(node: NodeView, observed: str, expected: str) -> Finding:
    """Report TCP that was not requested, because of this node."""
    observed = f"{_observed(node)}{observed}"
    return Finding("rdma ports", node.name, "warn", observed, expected, "mode=auto", _remedy(node))


def _in_minority(node: NodeView, most: RdmaKind) -> Finding:
    """Refuse a node without the RDMA that most nodes have."""
    observed = {"verbs": "RDMA ports, but no usable EFA device", "efa": "EFA only"}.get(kind(node)) or _observed(node)
    expected = f"{'usable RDMA ports' if most == 'verbs' else 'EFA devices'}, as on most nodes"
    remedy = _remedy(node) if kind(node) == "none" else _one_kind()
    return Finding("rdma ports", node.name, "fail", observed, expected, "mode=auto", remedy)


def _two_kinds(node: NodeView, others: Sequence[NodeView]) -> Finding:
    observed = f"EFA alone, and other RDMA adapters on {node_names([other.name for other in others])}"
    expected = "one kind of RDMA on all nodes"
    return Finding("rdma ports", node.name, "fail", observed, expected, "facts rdma", _one_kind())


def _one_kind() -> Remedy:
    return sentence("take the nodes of one kind out of the group nodes, or ", Option.MODE_TCP)


def _needs_plugin(node: NodeView) -> Finding:
    observed = "EFA devices, which NCCL cannot use on its own"
    expected = "the plugin aws-ofi-nccl (libnccl-net.so) where the ranks find it; without it NCCL falls back to TCP"
    remedy = "check that the ranks' log says 'Using network Libfabric' or 'AWS Libfabric'"
    return Finding("rdma ports", node.name, "warn", observed, expected, "facts rdma", remedy)


def _unknown(node: NodeView, policy: FabricPolicy) -> Finding:
    observed = "its RDMA devices are unknown"
    expected = f"facts rdma, as mode={policy.mode}"
    remedy = sentence("gather the facts again, or ", Option.MODE_TCP)
    return Finding("rdma ports", node.name, "error", observed, expected, "module rdma_facts", remedy)
