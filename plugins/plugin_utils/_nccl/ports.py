# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA ports as NCCL sees them: which it would take, which it can use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ansible_collections.muster.train.plugins.module_utils._records.rdma import AMAZON, Hca, Port, Rdma

ACTIVE = "ACTIVE"
INFINIBAND, ETHERNET = "InfiniBand", "Ethernet"
_NUMBERS = re.compile(r"[0-9a-f:.]*[0-9][0-9a-f:.]*")


@dataclass(frozen=True)
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
        """The network devices of this port: its own, those of its GIDs (a bond, a VLAN), of a one-port device all."""
        own = {self.port.netdev, *(gid.ndev for gid in self.port.gids)}
        own |= set(self.hca.netdevs) if len(self.hca.ports) == 1 else set()
        return {name for name in own if name}


def ports_of(rdma: Rdma | None) -> list[HcaPort]:
    """Return all ports of a node."""
    return [HcaPort(hca, port) for hca in (rdma.hcas if rdma else []) for port in hca.ports]


def is_efa(hca: Hca) -> bool:
    """Say whether it is Amazon's EFA: a verbs device, but not one for NCCL's own transport (only aws-ofi-nccl)."""
    return hca.vendor_id == AMAZON or hca.driver == "efa" or hca.name.startswith("efa_")


def is_software(hca: Hca) -> bool:
    """Say whether it is RDMA in software (rxe, siw): there is no device behind it."""
    return hca.pci_address is None


def active(rdma: Rdma | None) -> list[HcaPort]:
    """Return the ports that NCCL takes where it can open their device (net_ib/init.cc ncclIbInitDevices)."""
    return [
        each for each in ports_of(rdma) if each.port.state == ACTIVE and each.port.link_layer in (INFINIBAND, ETHERNET)
    ]


def openable(rdma: Rdma | None) -> list[HcaPort]:
    """Return what NCCL takes here without NCCL_IB_HCA: it looks at the state, the link layer and whether it opens.

    Where ports are usable and no device node is known, nobody could look at /dev: every device counts as open.
    """
    ports = active(rdma)
    unknown = not any(each.hca.uverbs for each in ports_of(rdma)) and any(each.port.usable for each in ports)
    return [each for each in ports if each.hca.uverbs or each.port.usable or unknown]


def usable(rdma: Rdma | None) -> list[HcaPort]:
    """Return the ports that NCCL can use over the network."""
    return [each for each in ports_of(rdma) if not why_not(each)]


def why_not(each: HcaPort) -> list[str]:
    """Say in words why NCCL cannot use a port, as the reader found; nothing where it can."""
    return [] if each.port.usable else list(each.port.reasons) or ["not usable"]


def explain(ports: Iterable[HcaPort], portless: Iterable[Hca] = ()) -> str:
    """Say for each port why it is not usable, those with the same reasons together; also of devices without ports."""
    alike: dict[str, list[str]] = {}
    for each in ports:
        alike.setdefault(", ".join(why_not(each)) or "usable", []).append(each.label)
    for hca in portless:
        alike.setdefault("it has no port", []).append(hca.name)
    return "; ".join(f"{', '.join(labels)}: {reasons}" for reasons, labels in alike.items())


def explain_shortly(ports: Iterable[HcaPort]) -> str:
    """Say the first reason of each port; reasons that differ in numbers only (a device node, an address) are one."""
    alike: dict[str, list[HcaPort]] = {}
    for each in ports:
        alike.setdefault(_NUMBERS.sub("#", why_not(each)[0]), []).append(each)
    parts = []
    for those in alike.values():
        reasons = list(dict.fromkeys(why_not(each)[0] for each in those))
        more = " (each its own)" if len(reasons) > 1 else ""
        parts.append(f"{', '.join(each.label for each in those)}: {reasons[0]}{more}")
    return "; ".join(parts)
