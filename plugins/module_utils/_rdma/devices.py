# SPDX-License-Identifier: GPL-3.0-or-later
"""The RDMA devices of a node, from sysfs alone.

/sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband) and the PCI devices behind it.
"""

from __future__ import annotations

import re
from typing import Callable

from .._host import pci, sysfs
from .._host.host import Host
from .._records.frozen import frozen
from .._records.rdma import AMAZON, Hca, Rdma
from .._text.order import natural
from . import uverbs
from .gdr import read_gdr
from .port import DeviceContext, read_port

# Of the PCI device: how many virtual functions it has, and could have.
VIRTUAL_FUNCTIONS = ("sriov_numvfs", "sriov_totalvfs")
ATTRIBUTES = ("node_type", "hca_type", "board_id", "fw_ver", "node_guid", "parent")
# Names that users of `rdma link add` give; decisive only where the tree does not show a PCI device.
_SOFTWARE_NAME = re.compile(r"(?:rxe|siw)[0-9_]")
_VENDOR = re.compile(r"0x[0-9a-f]{4}")
_PORT = re.compile(r"[0-9]{1,3}")


@frozen
class _Place:
    """Where a device is: its folder, its PCI address, and folders that may show its PCI device."""

    folder: str
    address: str | None
    devices: list[str]
    virtual: bool


def read_rdma(host: Host, warn: Callable[[str], None]) -> Rdma:
    """Return the devices; what could not be read is a warning."""
    names = host.list_dir(sysfs.INFINIBAND)
    why = sysfs.cannot_list(host, sysfs.INFINIBAND)
    if why is None and not host.is_dir("/sys"):
        why = "there is no /sys"
    if why is not None:
        warn(f"the RDMA devices are unknown: {why}")
    places = {name: _place(host, name) for name in sorted(names or [], key=natural)}
    nodes = uverbs.read_nodes(host)
    grants = uverbs.read_grants(host, {name: place.address for name, place in places.items()})
    net = host.list_dir("/sys/class/net")
    interfaces = None if net is None else frozenset(net)
    hcas = []
    for name, place in places.items():
        hcas.append(_read_hca(host, name, place, nodes, grants, interfaces))
        if not hcas[-1].ports and host.list_dir(place.folder) is None:
            warn(f"{name}: {sysfs.cannot_list(host, place.folder) or f'{place.folder} cannot be read'}")
    return Rdma(
        usable=None if why is not None else any(port.usable for hca in hcas for port in hca.ports),
        gdr=read_gdr(host),
        hcas=hcas,
    )


def read_addresses(host: Host) -> dict[str, str | None]:
    """Return the PCI address of each device by its name, None for one of software."""
    return {name: _place(host, name).address for name in host.list_dir(sysfs.INFINIBAND) or []}


def _place(host: Host, name: str) -> _Place:
    folder = f"{sysfs.INFINIBAND}/{name}"
    linked = host.resolve(f"{folder}/device")
    real = host.resolve(folder) or folder
    # A dangling link (in a partial copy of a tree) still names its device.
    address = pci.address_in(linked or "") or pci.address_in(real)
    devices = [f"{folder}/device"]
    # A scalable function has an auxiliary device without a vendor; a copied tree may have no device at all.
    if address is not None and not (linked and linked.endswith(f"/{address}") and host.is_dir(linked)):
        devices.append(f"{pci.DEVICES}/{address}")
    # Without a PCI device on the path there is none, but only where the class has links into /sys/devices.
    virtual = address is None and (real.startswith("/sys/devices/") or _SOFTWARE_NAME.match(name) is not None)
    return _Place(folder, address, devices, virtual)


def _read_hca(
    host: Host,
    name: str,
    place: _Place,
    nodes: dict[str, str],
    grants: uverbs.Grants,
    interfaces: frozenset[str] | None,
) -> Hca:
    attributes = sysfs.texts(host, place.folder, ATTRIBUTES)
    node_type = sysfs.word(attributes.get("node_type"))
    pci_attributes = _read_pci(host, place)
    vendor_id = pci_attributes.get("vendor")
    link = pci.parse_link(pci_attributes)
    node, closed = uverbs.node_of(host, name, nodes, place.devices)
    device_netdevs = _netdevs(host, place)
    if "parent" in attributes and not device_netdevs:
        device_netdevs = [attributes["parent"]]
    numbers = sorted(int(entry) for entry in host.list_dir(f"{place.folder}/ports") or [] if _PORT.fullmatch(entry))
    reasons = [
        _why_unsupported(node_type, vendor_id, place.virtual or "parent" in attributes),
        closed,
        grants.why_not(name, place.address),
    ]
    context = DeviceContext(
        node_type=node_type,
        netdevs=_by_port(host, place, device_netdevs, numbers),
        interfaces=interfaces,
        reasons=tuple(filter(None, reasons)),
    )
    ports = [read_port(host, f"{place.folder}/ports/{number}", number, context) for number in numbers]
    port_netdevs = {port.netdev for port in ports if port.netdev is not None}
    return Hca(
        name=name,
        node_type=node_type,
        vendor_id=vendor_id if place.address and _VENDOR.fullmatch(vendor_id or "") else None,
        driver=_link_name(host, place, "driver"),
        hca_type=attributes.get("hca_type"),
        board_id=attributes.get("board_id"),
        fw_ver=attributes.get("fw_ver"),
        node_guid=attributes.get("node_guid"),
        pci_address=place.address,
        numa_node=sysfs.number(pci_attributes.get("numa_node")),
        physfn=pci.address_in(_link_name(host, place, "physfn") or ""),
        uverbs=node,
        netdevs=sorted({*device_netdevs, *port_netdevs}, key=natural),
        ports=ports,
        **link._asdict(),
        virtual_functions=sysfs.number(pci_attributes.get(VIRTUAL_FUNCTIONS[0])),
        virtual_functions_max=sysfs.number(pci_attributes.get(VIRTUAL_FUNCTIONS[1])),
    )


def _why_unsupported(node_type: str | None, vendor_id: str | None, software: bool) -> str | None:
    if vendor_id == AMAZON or node_type == "unspecified":
        return "EFA or similar: NCCL reaches it only through a network plugin (aws-ofi-nccl), not as InfiniBand or RoCE"
    if node_type is not None and node_type.startswith(("switch", "router", "usNIC")):
        return f"it is a {node_type}, which NCCL cannot use"
    if software:
        return "it has no PCI device, because it is RDMA in software"
    return None


def _read_pci(host: Host, place: _Place) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for device in place.devices[::-1]:
        attributes.update(sysfs.texts(host, device, ("vendor", "numa_node", *VIRTUAL_FUNCTIONS, *pci.ATTRIBUTES)))
    return attributes


def _link_name(host: Host, place: _Place, link: str) -> str | None:
    targets = (host.read_link(f"{device}/{link}") for device in place.devices)
    return next((target.rstrip("/").rpartition("/")[2] for target in targets if target is not None), None)


def _netdevs(host: Host, place: _Place) -> list[str]:
    listings = (host.list_dir(f"{device}/net") for device in place.devices)
    return sorted(next((names for names in listings if names is not None), []), key=natural)


def _by_port(host: Host, place: _Place, netdevs: list[str], numbers: list[int]) -> dict[int, str]:
    """Return the first interface of each port: dev_port is the port's number, from 0."""
    if len(numbers) <= 1:
        return {number: netdevs[0] for number in numbers if netdevs}
    by_port: dict[int, str] = {}
    for netdev in netdevs:
        folders = [f"/sys/class/net/{netdev}", *(f"{device}/net/{netdev}" for device in place.devices)]
        values = []
        # IPoIB, and drivers before Linux 3.15, have it in dev_id.
        for attribute in ("dev_port", "dev_id"):
            texts = (sysfs.text(host, f"{folder}/{attribute}") for folder in folders)
            values.append(sysfs.number(next(filter(None, texts), None)) or 0)
        by_port.setdefault(max(values) + 1, netdev)
    return by_port
