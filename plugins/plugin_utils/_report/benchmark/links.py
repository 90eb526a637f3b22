# SPDX-License-Identifier: GPL-3.0-or-later
"""What the links of a node carry in one direction: between its GPUs, and to other nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu

from ..._cluster.node import Node
from ..._nccl import grammar
from ..._nccl.ports import ACTIVE, HcaPort, is_efa, openable, ports_of
from ..._text.table import names
from .figures import NVLINK, XGMI, figure_of, pcie

NEAR = ("PIX", "PXB")
GIGABIT = 8.0  # Gb/s in a GB/s


# The variable that names the interfaces of Gloo.
GLOO = "GLOO_SOCKET_IFNAME"


@frozen
class Rate:
    """GB/s in one direction, None where it is not known, and how it follows from the facts, in words."""

    gb_per_s: float | None
    reason: str


@frozen
class BenchmarkNode:
    """A node of the run, with the variables of its ranks, and how many ranks it has."""

    node: Node
    nproc: int
    environment: Mapping[str, str] = field(default_factory=dict)


def between_gpus(place: BenchmarkNode) -> Rate:
    """Return what one GPU can send to the others of its node."""
    gpu = place.node.gpu
    if gpu is None or not gpu.devices:
        return Rate(None, "what the GPUs are is not known")
    name = gpu.devices[0].name
    links = [link for link in gpu.links if 0 in (link.a, link.b)]
    if any(link.relation.startswith("NV") for link in links):
        figure = figure_of(NVLINK, name)
        if figure is None:
            return Rate(None, f"what an NVLink of {name or 'this GPU'} carries is not known")
        # Through switches all links lead to each peer; without, they are divided among them.
        count = min(figure.count, sum(link.count or 0 for link in links))
        return Rate(count * figure.gb_per_s, f"{count} NVLinks of {figure.gb_per_s:g} GB/s on each {name}")
    if any(link.relation == "XGMI" for link in links):
        figure = figure_of(XGMI, name)
        if figure is None:
            return Rate(None, f"what an xGMI link of {name or 'this GPU'} carries is not known")
        count = min(figure.count, len(links), max(1, place.nproc - 1))
        return Rate(count * figure.gb_per_s, f"{count} xGMI links of {figure.gb_per_s:g} GB/s on each {name}")
    rate = _gpu_pcie(place)
    return rate or Rate(None, "the lanes of the GPUs' PCIe are not known")


def _gpu_pcie(place: BenchmarkNode) -> Rate | None:
    health = place.node.facts.gpu_health
    # A GPU that is idle lowers the generation of its link: what it can do counts.
    rates = [
        (pcie(device.link_width, device.link_gen_max or device.link_gen), device)
        for device in ((health.devices if health else None) or [])[: place.nproc]
    ]
    known = [(rate, device) for rate, device in rates if rate is not None]
    if not known:
        return None
    rate, device = min(known, key=lambda item: item[0])
    generation = device.link_gen_max or device.link_gen
    return Rate(rate, f"PCIe {generation}.0 with {device.link_width} lanes on GPU {device.index}")


def adapters(place: BenchmarkNode) -> Sequence[HcaPort]:
    """Return the ports that NCCL uses for the ranks of a node."""
    return _near(place, _taken(place))


def by_rdma(place: BenchmarkNode) -> Rate:
    """Return what the adapters that NCCL uses for these ranks carry to other nodes: each at most what its PCIe does."""
    ports = adapters(place)
    if not ports:
        return Rate(None, "no adapter that NCCL can use is known")
    rates: dict[str, float] = {}
    slow: dict[str, str] = {}
    for nic in ports:
        slot = (nic.hca.pci_address or nic.hca.name).rpartition(".")[0] or nic.hca.name
        rates[slot] = rates.get(slot, 0.0) + nic.rate / GIGABIT
    for nic in ports:
        slot = (nic.hca.pci_address or nic.hca.name).rpartition(".")[0] or nic.hca.name
        bus = pcie(nic.hca.link_width, nic.hca.link_gen)
        if bus is not None and bus < rates[slot]:
            rates[slot] = bus
            slow[nic.hca.name] = (
                f"PCIe {nic.hca.link_gen}.0 with {nic.hca.link_width} lanes lets {bus:.1f} GB/s through"
            )
    total = sum(rates.values())
    parts = [
        f"{_count(ports)} ({names([nic.label for nic in ports], 8)})",
        *(f"{name}: {why}" for name, why in slow.items()),
    ]
    gpus = _gpu_pcie(place)
    if gpus is not None and gpus.gb_per_s is not None and gpus.gb_per_s * place.nproc < total:
        total = gpus.gb_per_s * place.nproc
        parts.append(f"to them {gpus.reason} for {place.nproc} rank{'s' * (place.nproc > 1)}")
    return Rate(total, "; ".join(parts))


def by_tcp(place: BenchmarkNode, variable: str) -> Rate:
    """Return what the interfaces of TCP carry: those that a variable of the library names."""
    net, value = place.node.facts.net, place.environment.get(variable)
    if net is None or not value:
        return Rate(None, f"{variable} is not set, so that the interface is not known")
    # Gloo's names are whole ones, NCCL's the beginnings of names.
    devices = grammar.parse(f"={value}" if variable == GLOO else value)
    speeds = {name: speed for name, speed in net.speeds.items() if devices.takes(name)}
    if not speeds:
        return Rate(None, f"the speed of {value.lstrip('=')} is not known")
    total = sum(speeds.values()) / 1000
    return Rate(total / GIGABIT, f"{names(list(speeds), 8)} with {total:g} Gb/s")


def _taken(place: BenchmarkNode) -> list[HcaPort]:
    rdma = place.node.rdma
    ports = openable(rdma) or [nic for nic in ports_of(rdma) if is_efa(nic.hca) and nic.port.state == ACTIVE]
    value = place.environment.get("NCCL_IB_HCA")
    devices = grammar.parse(value) if value else None
    return [nic for nic in ports if devices is None or devices.takes(nic.hca.name, nic.port.port)]


def _near(place: BenchmarkNode, ports: Sequence[HcaPort]) -> list[HcaPort]:
    """Return the ports near the GPUs of the ranks, all where a GPU has none: NCCL takes others only if it has to."""
    gpu: Gpu | None = place.node.gpu
    nearest = [near for near in (gpu.nearest_nics if gpu else []) if near.gpu < place.nproc]
    if len(nearest) < place.nproc or any(near.relation not in NEAR for near in nearest):
        return list(ports)
    wanted = {name for near in nearest for name in near.names}
    return [nic for nic in ports if nic.hca.name in wanted] or list(ports)


def _count(ports: Sequence[HcaPort]) -> str:
    rates = sorted({nic.rate for nic in ports}, reverse=True)
    counts = [(sum(nic.rate == rate for nic in ports), rate) for rate in rates]
    return " and ".join(f"{count} port{'s' * (count > 1)} of {rate:g} Gb/s" for count, rate in counts)
