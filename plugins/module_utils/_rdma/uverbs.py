# SPDX-License-Identifier: GPL-3.0-or-later
"""Which RDMA devices a process here can open.

A container sees every HCA of its host in sysfs, but can use only those with a device node and, in a pod, those that the
SR-IOV device plugin granted.
"""

from __future__ import annotations

import re

from .._host import pci, sysfs
from .._host.host import Host
from .._records.frozen import frozen
from .._records.known import as_dict, parse_json

CLASS = "/sys/class/infiniband_verbs"
NODES = "/dev/infiniband"
_UVERBS = re.compile(r"uverbs[0-9]+")
# `resourcePrefix_resourceName` in capitals; the plain variable lists addresses, _INFO (since plugin 3.6) has more.
_GRANT = re.compile(r"PCIDEVICE_\w+")


def read_nodes(host: Host) -> dict[str, str]:
    """Return the name in /dev/infiniband by HCA, from the class's own list."""
    nodes = {}
    for name in host.list_dir(CLASS) or []:
        hca = sysfs.text(host, f"{CLASS}/{name}/ibdev") if _UVERBS.fullmatch(name) else None
        if hca is not None:
            nodes[hca] = name
    return nodes


def node_of(host: Host, hca: str, nodes: dict[str, str], devices: list[str]) -> tuple[str | None, str | None]:
    """Return the device node and why it cannot be opened; (None, None) if that is unknown.

    nodes is from read_nodes, devices are folders that may hold the device's infiniband_verbs/.
    """
    name = nodes.get(hca) or _beside(host, devices, set(nodes.values()))
    if name is None:
        # Without /dev nothing is known; in a /dev without a single node none can be opened.
        present = host.list_dir(NODES)
        here = bool(host.list_dir("/dev")) if present is None else True
        if here and not any(map(_UVERBS.fullmatch, present or [])):
            return None, f"there is no {NODES}/uverbs device: visible, but it cannot be opened"
        return None, f"the kernel lists no uverbs device for it in {CLASS}" if host.is_dir(CLASS) else None
    node = f"{NODES}/{name}"
    if host.opens(node):
        return node, None
    if host.exists(node):
        return node, f"{node} cannot be opened: permission denied"
    missing = bool(host.list_dir("/dev"))
    return None, f"{node} is missing: visible, but it cannot be opened" if missing else None


def _beside(host: Host, devices: list[str], other_names: set[str]) -> str | None:
    """Return the only node of a PCI device that no other device has."""
    for device in devices:
        names = {name for name in host.list_dir(f"{device}/infiniband_verbs") or [] if _UVERBS.fullmatch(name)}
        if len(names - other_names) == 1:
            return (names - other_names).pop()
    return None


@frozen
class Grants:
    """PCI addresses and HCAs that the SR-IOV device plugin granted to this pod; empty without a grant."""

    addresses: frozenset[str]
    hcas: frozenset[str]

    def why_not(self, hca: str, address: str | None) -> str | None:
        """Return why this pod may not use a device."""
        if not self.addresses or address is None or address in self.addresses or hca in self.hcas:
            return None
        granted = ", ".join(sorted(self.addresses))
        return f"the SR-IOV device plugin did not grant {address} to this pod, only {granted}"


def parse_grants(environment: str) -> Grants:
    """Return what the variables PCIDEVICE_* of an environment (NAME=value, NUL between) name."""
    addresses: set[str] = set()
    hcas: set[str] = set()
    for entry in environment.split("\0"):
        name, _equals, value = entry.partition("=")
        if not _GRANT.fullmatch(name):
            continue
        if not name.endswith("_INFO"):
            addresses.update(filter(None, map(pci.normalize, value.split(","))))
            continue
        for address, device in as_dict(parse_json(value)).items():
            addresses.update(filter(None, [pci.normalize(address)]))
            rdma = device.get("rdma") if isinstance(device, dict) else None
            hca = rdma.get("rdma_dev") if isinstance(rdma, dict) else None
            if isinstance(hca, str):
                hcas.add(hca)
    return Grants(frozenset(addresses), frozenset(hcas))


def read_grants(host: Host, hcas: dict[str, str | None]) -> Grants:
    """Return the grants of this pod; hcas are the PCI addresses of the HCAs, by name.

    Grants that name none of them are for other devices (DPDK, a GPU) and say nothing about RDMA.
    """
    grants = parse_grants(host.read_text("/proc/self/environ") or "")
    granted = grants.addresses & {address for address in hcas.values() if address} or grants.hcas & set(hcas)
    return grants if granted or grants.hcas else Grants(frozenset(), frozenset())
