# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA ports as NCCL sees them: which it would take, which it can use."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen
from ansible_collections.muster.train.plugins.module_utils._records.rdma import AMAZON, Hca, Port, Rdma

ACTIVE = "ACTIVE"
INFINIBAND, ETHERNET = "InfiniBand", "Ethernet"
_NUMBERS = re.compile(r"[0-9a-f:.]*[0-9][0-9a-f:.]*")


@frozen
class HcaPort:
    """One port together with its device."""

    hca: Hca
    port: Port

    @property
    def entry(self) -> str:
        """The port as NCCL_IB_HCA names it: the number is needed only where the device has several."""
        return f"{self.hca.name}:{self.port.port}" if len(self.hca.ports) > 1 else self.hca.name

    @property
    def label(self) -> str:
        """The port as a person names it."""
        return f"{self.hca.name} port {self.port.port}" if len(self.hca.ports) > 1 else self.hca.name

    @property
    def rate(self) -> float:
        return self.port.rate_gbps or 0.0

    @property
    def netdevs(self) -> set[str]:
        """The port's network device, those of its GIDs (a bond, a VLAN), and all of a device with one port."""
        device_netdevs = self.hca.netdevs if len(self.hca.ports) == 1 else []
        return {name for name in (self.port.netdev, *(gid.ndev for gid in self.port.gids), *device_netdevs) if name}


def ports_of(rdma: Rdma | None) -> list[HcaPort]:
    """Return all ports of a node."""
    return [HcaPort(hca, port) for hca in (rdma.hcas if rdma else []) for port in hca.ports]


def is_efa(hca: Hca) -> bool:
    """Return whether it is Amazon's EFA: a verbs device that NCCL can use only through aws-ofi-nccl."""
    return hca.vendor_id == AMAZON or hca.driver == "efa" or hca.name.startswith("efa_")


def is_software(hca: Hca) -> bool:
    """Return whether it is RDMA in software (rxe, siw), which has no PCI device."""
    return hca.pci_address is None


def active(rdma: Rdma | None) -> list[HcaPort]:
    """Return the ports that NCCL takes if it can open their device (net_ib/init.cc ncclIbInitDevices)."""
    layers = (INFINIBAND, ETHERNET)
    return [nic for nic in ports_of(rdma) if nic.port.state == ACTIVE and nic.port.link_layer in layers]


def openable(rdma: Rdma | None) -> list[HcaPort]:
    """Return the ports that NCCL takes without NCCL_IB_HCA: active, and of a device that it can open.

    If ports are usable but no device node is known, /dev could not be read, and every device counts as openable.
    """
    ports = active(rdma)
    unknown = not any(nic.hca.uverbs for nic in ports_of(rdma)) and any(nic.port.usable for nic in ports)
    return [nic for nic in ports if nic.hca.uverbs or nic.port.usable or unknown]


def usable(rdma: Rdma | None) -> list[HcaPort]:
    """Return the ports that NCCL can use over the network."""
    return [nic for nic in ports_of(rdma) if not why_not(nic)]


def why_not(nic: HcaPort) -> list[str]:
    """Return the reasons why NCCL cannot use a port; none if it can."""
    return [] if nic.port.usable else list(nic.port.reasons) or ["not usable"]


def explain(ports: Iterable[HcaPort], portless: Iterable[Hca] = ()) -> str:
    """Explain why ports are not usable, grouped by reason; portless are devices without ports."""
    alike: dict[str, list[str]] = {}
    for nic in ports:
        alike.setdefault(", ".join(why_not(nic)) or "usable", []).append(nic.label)
    for hca in portless:
        alike.setdefault("has no port", []).append(hca.name)
    return "; ".join(f"{', '.join(labels)}: {reasons}" for reasons, labels in alike.items())


def explain_shortly(ports: Iterable[HcaPort]) -> str:
    """Give the first reason of each port; reasons that differ only in numbers (device nodes, addresses) are grouped."""
    alike: dict[str, list[HcaPort]] = {}
    for nic in ports:
        alike.setdefault(_NUMBERS.sub("#", why_not(nic)[0]), []).append(nic)
    parts = []
    for group in alike.values():
        more = " (and similar)" if len({why_not(nic)[0] for nic in group}) > 1 else ""
        parts.append(f"{', '.join(nic.label for nic in group)}: {why_not(group[0])[0]}{more}")
    return "; ".join(parts)
