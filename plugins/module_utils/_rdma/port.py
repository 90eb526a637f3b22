# SPDX-License-Identifier: GPL-3.0-or-later
"""One port of an RDMA device, and whether NCCL could use it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from .._host import sysfs
from .._host.host import Host
from .._records.frozen import frozen
from .._records.rdma import ROCE_V2, Gid, Port, choose_gid
from .gids import interfaces as gids_interfaces
from .gids import is_link_local, read_gids

ATTRIBUTES = ("state", "phys_state", "link_layer", "rate", "lid", "sm_lid")
# Counters of a bad link or a lossy fabric; there are many more, and every driver has others.
COUNTERS = (
    *("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors"),
    *("port_xmit_discards", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped"),
)
HW_COUNTERS = (
    *("out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "out_of_buffer"),
    *("roce_adp_retrans", "roce_slow_restart", "roce_slow_restart_cnps", "roce_slow_restart_trans", "np_cnp_sent"),
    *("np_ecn_marked_roce_packets", "rp_cnp_handled", "rx_icrc_encapsulated"),
)
_RATE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?Gb/sec\b.*")
_SIGNALING = re.compile(r".{0,40}\(([0-9]{1,2}X(?: [A-Z0-9]{1,8})?)\)")
# include/rdma/ib_addr.h: iboe_get_mtu subtracts GRH, UDP, BTH, XRC, AtomicETH and ICRC from the interface's MTU.
ROCE_HEADERS = 40 + 8 + 12 + 4 + 28 + 4
MTUS = (4096, 2048, 1024, 512, 256)


@frozen
class DeviceContext:
    """What a port needs of its device and the machine; reasons are those that apply to all ports of the device.

    netdevs are the device's interfaces by port, interfaces those of this network namespace.
    """

    node_type: str | None
    netdevs: dict[int, str]
    interfaces: frozenset[str] | None
    reasons: tuple[str, ...]


def parse_rate(text: str | None) -> float | None:
    """Return Gb/s of "400 Gb/sec (4X NDR)"."""
    match = _RATE.fullmatch(text or "")
    return float(match.group(1)) if match else None


def parse_signaling(text: str | None) -> str | None:
    """Return the lanes and their speed, "4X NDR", of "400 Gb/sec (4X NDR)"; some drivers have the lanes alone."""
    match = _SIGNALING.fullmatch(text or "")
    return match.group(1) if match else None


def roce_mtu(interface_mtu: int | None) -> int | None:
    """Return the MTU of RoCE on an interface with that MTU; None where it is too small or unknown."""
    if interface_mtu is None:
        return None
    return next((mtu for mtu in MTUS if interface_mtu - ROCE_HEADERS >= mtu), None)


def read_port(host: Host, folder: str, number: int, context: DeviceContext) -> Port:
    """Return the port of that folder (ports/N)."""
    attributes = sysfs.texts(host, folder, ATTRIBUTES)
    gids = read_gids(host, folder)
    gid_interfaces = gids_interfaces(gids or [])
    netdev = gid_interfaces[0] if gid_interfaces else context.netdevs.get(number)
    roce = attributes.get("link_layer") == "Ethernet"
    chosen = None if attributes.get("link_layer") == "InfiniBand" else choose_gid(gids or [], netdev)
    port = Port(
        port=number,
        state=sysfs.word(attributes.get("state")),
        phys_state=sysfs.word(attributes.get("phys_state")),
        link_layer=attributes.get("link_layer"),
        rate_gbps=parse_rate(attributes.get("rate")),
        lid=sysfs.number(attributes.get("lid")),
        sm_lid=sysfs.number(attributes.get("sm_lid")),
        netdev=netdev,
        # The kernel has no file for the MTU of a port; on InfiniBand that of IPoIB is unrelated.
        mtu=roce_mtu(sysfs.number(sysfs.text(host, f"/sys/class/net/{netdev}/mtu"))) if roce and netdev else None,
        counters=_counters(host, folder),
        gids=gids or [],
        rocev2_gid_index=chosen.index if chosen else None,
        usable=False,
        reasons=[],
        signaling=parse_signaling(attributes.get("rate")),
    )
    reasons = [*why_not_up(port), *context.reasons]
    if not reasons:
        reasons = why_not_reached(port, context, gids)
    return dataclasses.replace(port, usable=not reasons, reasons=reasons)


def _counters(host: Host, folder: str) -> dict[str, int]:
    """Return the counters with a number: `N/A (no PMA)` and EINVAL are common."""
    texts = sysfs.texts(host, f"{folder}/counters", COUNTERS)
    texts.update(sysfs.texts(host, f"{folder}/hw_counters", HW_COUNTERS))
    numbers = ((name, sysfs.number(value)) for name, value in texts.items())
    return {name: value for name, value in numbers if value is not None}


def why_not_up(port: Port) -> list[str]:
    """Return what keeps NCCL from listing the port (src/transport/net_ib/init.cc: ncclIbInitDevices)."""
    if port.state is None:
        return ["its state cannot be read"]
    if port.state != "ACTIVE":
        why = ": no subnet manager has set it up" if port.state == "INIT" and port.link_layer == "InfiniBand" else ""
        return [f"state is {port.state} ({port.phys_state or 'phys_state unknown'}), not ACTIVE{why}"]
    if port.link_layer is None:
        return ["its link layer cannot be read"]
    if port.link_layer not in ("InfiniBand", "Ethernet"):
        return [f"link layer is {port.link_layer}, neither InfiniBand nor Ethernet"]
    return []


def why_not_reached(port: Port, context: DeviceContext, gids: Sequence[Gid] | None) -> list[str]:
    """Return why no other node could be reached through a port that is up; a missing GID table is not a reason."""
    if port.link_layer == "InfiniBand":
        return ["sm_lid is 0: there is no subnet manager"] if port.sm_lid == 0 else []
    if gids is None:
        return []
    if not gids:
        return ["its GID table is empty, because none of its interfaces has an address here"]
    foreign = _foreign(gids, context)
    if foreign:
        return [f"its GIDs belong to {', '.join(foreign)}, not an interface of this network namespace"]
    if any(gid.type == ROCE_V2 and not is_link_local(gid) for gid in gids):
        return []
    if any(gid.type is None for gid in gids):
        return ["the types of its GIDs cannot be read, so no RoCE v2 GID is known"]
    if all(is_link_local(gid) for gid in gids):
        return [f"it has only link-local GIDs: {port.netdev or 'its interface'} has no address"]
    return ["it has no RoCE v2 GID" + (": iWARP, which NCCL does not support" if context.node_type == "RNIC" else "")]


def _foreign(gids: Sequence[Gid], context: DeviceContext) -> list[str]:
    """Return the interfaces of the GIDs if all are elsewhere: every namespace sees all GIDs of a shared device."""
    behind = gids_interfaces(gids)
    if not context.interfaces or any(gid.ndev is None for gid in gids):
        return []
    here = context.interfaces | set(context.netdevs.values())
    return [] if here & set(behind) else behind
