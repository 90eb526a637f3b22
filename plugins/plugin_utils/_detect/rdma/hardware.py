# SPDX-License-Identifier: GPL-3.0-or-later
"""Sections about the adapters: what they are, how they are connected, and their ports, GIDs and counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.rdma import Gid, Hca
from ansible_collections.muster.train.plugins.module_utils._text.spans import spans

from ..._cluster.policy import ClusterPolicy
from ..._nccl.gid import INDEX
from ..._nccl.ports import INFINIBAND, HcaPort
from ..._text.table import names
from .. import rows as detect_rows
from ..detected import DetectedNode
from ..links import nearest
from ..topology import rate, short_name
from .section import NOT_KNOWN, Section, facts_of, features_of, hcas_of, ports_of, why_no_rdma

PORTS_SHOWN = 8  # of a counter
GID_CHOICE = (
    "The entry that a RoCE port sends from is of RoCE v2 and not link-local: IPv4 before IPv6, of the port's own "
    "interface, in the network of most ports, the lowest index."
)
# What a counter that is not 0 means; Documentation/ABI/stable/sysfs-class-infiniband and the mlx5 driver's counters.
COUNTERS: Mapping[str, str] = {
    "symbol_error": "bit errors on the link: cable, transceiver",
    "link_error_recovery": "the link was trained again",
    "link_downed": "the link went down",
    "port_rcv_errors": "packets with an error received",
    "port_rcv_remote_physical_errors": "packets that were marked bad on their way",
    "port_xmit_discards": "packets not sent: the port was down or congested",
    "local_link_integrity_errors": "the link had too many errors",
    "excessive_buffer_overrun_errors": "the port's buffers overflowed",
    "VL15_dropped": "packets of the subnet management dropped",
    "out_of_sequence": "packets out of order, so that some were lost before",
    "packet_seq_err": "the peer reported a lost packet",
    "local_ack_timeout_err": "no acknowledgment in time, sent again",
    "rnr_nak_retry_err": "the peer was not ready to receive",
    "out_of_buffer": "no receive buffer was posted",
    "roce_adp_retrans": "adaptive retransmissions of RoCE",
    "roce_slow_restart": "slow restarts of RoCE",
    "roce_slow_restart_cnps": "congestion notifications in slow restarts",
    "roce_slow_restart_trans": "transitions to slow restart",
    "np_cnp_sent": "congestion notifications sent, as a receiver",
    "np_ecn_marked_roce_packets": "packets that a switch marked as congested",
    "rp_cnp_handled": "congestion notifications followed, as a sender",
    "rx_icrc_encapsulated": "RoCE packets with a wrong checksum",
}


def devices(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe what the adapters are."""
    headers = ("HCA", "kind", "model", "board", "firmware", "driver", "node GUID")
    rows = [
        (
            hca.name,
            hca.node_type or NOT_KNOWN,
            hca.hca_type or "",
            hca.board_id or "",
            hca.fw_ver or "",
            hca.driver or "",
            hca.node_guid or "",
        )
        for hca in hcas_of(node)
    ]
    versions = facts_of(node).versions
    version = versions.mlx5 if versions else None
    models = {name: model or kind for name, kind, model, *_others in rows}
    features = {**models, **features_of(headers, rows, "board", "firmware", "driver")}
    notes = [f"The driver mlx5_core is version {version}, not the kernel's own."] if version else []
    absent = why_no_rdma(node)
    return Section("devices", "Devices", headers, rows, notes, {**features, "HCAs": absent or str(len(rows))}, absent)


def pci(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe where the adapters are on the bus."""
    headers = ("HCA", "PCI address", "PCIe link", "NUMA node", "virtual functions")
    rows = [
        (
            hca.name,
            hca.pci_address or "none",
            _link(hca),
            "" if hca.numa_node is None else str(hca.numa_node),
            _functions(hca),
        )
        for hca in hcas_of(node)
    ]
    features = features_of(headers, rows, "PCIe link", "NUMA node", "virtual functions")
    return Section("pci", "PCI links", headers, rows, (), features, why_no_rdma(node))


def _link(hca: Hca) -> str:
    """Return `gen 5 x16`, and what it could be where that is more; empty for a virtual function."""
    current, best = (hca.link_gen, hca.link_width), (hca.link_gen_max, hca.link_width_max)
    texts = [f"gen {generation or '?'} x{width or '?'}" for generation, width in (current, best)]
    if current == (None, None):
        return ""
    return texts[0] if current == best or best == (None, None) else f"{texts[0]}, could be {texts[1]}"


def _functions(hca: Hca) -> str:
    if hca.physfn:
        return f"it is one, of {hca.physfn}"
    if not hca.virtual_functions_max:
        return ""
    return f"{hca.virtual_functions or 0} of {hca.virtual_functions_max}"


def ports(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe the ports, and whether a job would use them."""
    headers = ("port", "state", "rate", "lanes", "link layer", "LID", "SM LID", "for a job")
    rows = [
        (
            nic.label,
            detect_rows.port_state(nic.port),
            rate(nic.port),
            nic.port.signaling or "",
            nic.port.link_layer or NOT_KNOWN,
            *(str(lid or "") for lid in (nic.port.lid, nic.port.sm_lid)),
            detect_rows.port_use(nic.hca, nic.port, node),
        )
        for nic in ports_of(node)
    ]
    portless = [f"{hca.name} has no port." for hca in hcas_of(node) if not hca.ports]
    features = features_of(headers, rows, "state", "rate", "lanes", "link layer", "for a job")
    return Section("ports", "Ports", headers, rows, portless, features, why_no_rdma(node))


def gids(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe which entry of its GID table a port sends from, and why."""
    headers = ("port", "entry", "address", "type", "interface", "other entries")
    rows = [_gid_row(nic, node) for nic in ports_of(node)]
    roce = any(nic.port.link_layer != INFINIBAND for nic in ports_of(node))
    decided = [
        *(f"{item.name}={item.value}: {detect_rows.remark(item)}" for item in node.environment if item.name == INDEX),
        *(f"{INDEX} is not set: {item.reason}" for item in node.not_set if item.name == INDEX),
    ]
    notes = [*([GID_CHOICE] if roce else []), *decided]
    return Section(
        "gids",
        "GIDs",
        headers,
        rows,
        notes,
        features_of(headers, rows, "entry", "type", "interface"),
        why_no_rdma(node) or ("" if rows else "the RDMA devices have no port"),
    )


def _gid_row(nic: HcaPort, node: DetectedNode) -> tuple[str, ...]:
    index = 0 if nic.port.link_layer == INFINIBAND else node.gid_index(nic.hca, nic.port)
    chosen = next((gid for gid in nic.port.gids if gid.index == index), None)
    types: dict[str, list[Gid]] = {}
    for gid in nic.port.gids:
        if gid is not chosen:
            types.setdefault(gid.type or "type not known", []).append(gid)
    others = "; ".join(f"{kind} {spans(gid.index for gid in group)}" for kind, group in types.items())
    if chosen is None:
        return nic.label, "none" if nic.port.gids else "empty table", "", "", "", others
    address = chosen.gid if nic.port.link_layer == INFINIBAND else chosen.address or chosen.gid
    return nic.label, str(chosen.index), address, chosen.type or "", chosen.ndev or "", others


def counters(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe the counters of errors and congestion of one node."""
    return counters_of([node])


def counters_of(nodes: Sequence[DetectedNode]) -> Section:
    """Describe the counters that are not 0 on all ports of these nodes, by the ports where they are highest."""
    values: dict[str, dict[str, int]] = {}
    for node in nodes:
        where = f"{node.name} " if len(nodes) > 1 else ""
        for nic in ports_of(node):
            for name, value in nic.port.counters.items():
                values.setdefault(name, {})[f"{where}{nic.label}"] = value
    raised = {name: {label: value for label, value in ports.items() if value} for name, ports in values.items()}
    rows = [(name, COUNTERS.get(name, ""), _highest(ports)) for name, ports in raised.items() if ports]
    zero = [name for name, ports in raised.items() if not ports]
    notes = [f"0 on all ports: {', '.join(zero)}."] if zero else []
    absent = why_no_rdma(nodes[0]) or ("" if values else "the ports have no counters that can be read")
    headers = ("counter", "it counts", "ports")
    return Section("counters", "Counters since the driver was loaded", headers, rows, notes, {}, absent)


def _highest(ports: Mapping[str, int]) -> str:
    """Return `mlx5_0 4711, mlx5_3 12 and 6 more`, the highest first."""
    order = sorted(ports, key=lambda label: -ports[label])
    return names([f"{label} {ports[label]}" for label in order], PORTS_SHOWN)


def gpudirect(node: DetectedNode, _policy: ClusterPolicy) -> Section:
    """Describe how far the GPUs are from the adapters, and what the kernel has for GPUDirect RDMA."""
    near = {item.gpu: nearest(item) for item in node.gpu.nearest_nics if item.names} if node.gpu else {}
    headers = ("GPU", "name", "nearest HCA")
    gpus = node.gpu.devices if node.gpu else []
    rows = [(f"GPU {gpu.index}", short_name(gpu.name), near.get(gpu.index, NOT_KNOWN)) for gpu in gpus]
    modules = detect_rows.gdr_summary(node.rdma.gdr) if node.rdma else NOT_KNOWN
    absent = why_no_rdma(node)
    if not absent and not rows:
        absent = "the GPUs could not be read" if node.gpu is None else "there is no GPU that a process here can open"
    features = {**features_of(headers, rows, "nearest HCA"), "GPUDirect RDMA": modules}
    notes = [f"In the kernel: {modules}."]
    return Section("gpudirect", "GPUs and GPUDirect RDMA", headers, rows, notes, features, absent)
