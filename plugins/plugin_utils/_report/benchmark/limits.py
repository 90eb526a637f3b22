# SPDX-License-Identifier: GPL-3.0-or-later
"""The bus bandwidth that the machines allow, with how it follows from their facts.

Two cuts through a group of ranks bound it: around one GPU, whose links carry the bus bandwidth by its definition, and
around one node, whose network carries what the collective has to bring from other nodes, at the least. Switches that
sum (NVLink SHARP, SHARP on InfiniBand) are not counted: with them a sum can be faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from ..._cluster.machines import machine
from .definitions import FACTORS, crossing
from .links import GLOO, BenchmarkNode, Rate, adapters, between_gpus, by_rdma, by_tcp


@frozen
class Setup:
    """What is measured: the collective, which ranks run it together, and by what they communicate."""

    collective: str
    scope: str
    backend: str
    fabric: str
    nnodes: int
    nproc: int

    @property
    def is_rdma(self) -> bool:
        """Whether ranks reach other nodes by RDMA, which Gloo does not."""
        return self.backend != "gloo" and self.fabric == "rdma"

    @property
    def per_node(self) -> int:
        """How many ranks of a group are on one node."""
        return 1 if self.scope == "rails" else self.nproc

    @property
    def nodes(self) -> int:
        """On how many nodes a group is."""
        return 1 if self.scope == "nodes" else self.nnodes

    @property
    def ranks(self) -> int:
        """How many ranks a group has."""
        return self.nodes * self.per_node


@frozen
class Bound:
    """One bound of the bus bandwidth, None where it is not known: what it comes from, and how."""

    what: str
    gb_per_s: float | None
    reason: str


@frozen
class BandwidthLimit:
    """The smallest known bound, and all of them."""

    gb_per_s: float | None
    reason: str
    bounds: Sequence[Bound]

    def to_dict(self) -> dict[str, Any]:
        """Return it as a part of the document."""
        return {"gb_per_s": self.gb_per_s, "reason": self.reason, "bounds": [asdict(bound) for bound in self.bounds]}


def limit_of(setup: Setup, places: Sequence[BenchmarkNode]) -> BandwidthLimit:
    """Return the limit of a group's bus bandwidth on these nodes."""
    bounds = []
    if setup.per_node > 1:
        bounds.append(_within(setup, places))
    if setup.nodes > 1:
        bounds.append(_across(setup, places))
    known = [bound for bound in bounds if bound.gb_per_s is not None]
    if not known:
        return BandwidthLimit(None, "; ".join(bound.reason for bound in bounds), bounds)
    least = min(known, key=lambda bound: bound.gb_per_s or 0.0)
    return BandwidthLimit(least.gb_per_s, least.reason, bounds)


def _within(setup: Setup, places: Sequence[BenchmarkNode]) -> Bound:
    what = "the links of a GPU"
    if setup.backend == "gloo":
        return Bound("main memory", None, "gloo copies through main memory, whose bandwidth is not known")
    rate, where = _least([(between_gpus(place), place) for place in places])
    return Bound(what, rate.gb_per_s, f"{rate.reason}{where}")


def _across(setup: Setup, places: Sequence[BenchmarkNode]) -> Bound:
    what = "the network of a node"
    machines = {machine(place.node.name, place.node.facts) for place in places}
    if len(machines) < len(places):
        return Bound(what, None, "nodes share a machine, and what its loopback carries is not known")
    rate, where = _least([(_network(setup, place), place) for place in places])
    if rate.gb_per_s is None:
        return Bound(what, None, f"{rate.reason}{where}")
    share, text = rate.gb_per_s, f"{rate.reason}{where}: {rate.gb_per_s:.4g} GB/s"
    if setup.scope == "rails" and setup.nproc > 1:
        share /= setup.nproc
        text += f", shared by {setup.nproc} groups"
    elif setup.collective == "send_recv" and setup.is_rdma and setup.per_node > 1:
        # The one rank that sends to the next node uses the adapters near its GPU; sockets use every interface.
        parts = min(setup.per_node, *(len(adapters(place)) or 1 for place in places))
        share /= parts
        text += f", of which one of {setup.per_node} ranks sends to the next node, by 1/{parts} of the adapters"
    part = crossing(setup.collective, setup.nodes, setup.per_node)
    factor = FACTORS[setup.collective](setup.ranks)
    if abs(part - factor) > 1e-9:
        text += f"; {part:.3g} times the size has to cross it, and busbw counts {factor:.3g} times"
    return Bound(what, share * factor / part, text)


def _network(setup: Setup, place: BenchmarkNode) -> Rate:
    if setup.backend == "gloo":
        return by_tcp(place, GLOO)
    return by_rdma(place) if setup.is_rdma else by_tcp(place, "NCCL_SOCKET_IFNAME")


def _least(rates: Sequence[tuple[Rate, BenchmarkNode]]) -> tuple[Rate, str]:
    """Return the rate of the slowest node, and which one that is where they differ; one that is unknown comes first."""
    rate, place = min(rates, key=lambda item: -1.0 if item[0].gb_per_s is None else item[0].gb_per_s)
    others = {other.gb_per_s for other, _place in rates}
    return rate, f" on {place.node.name}, the slowest" if len(others) > 1 and rate.gb_per_s is not None else ""


def environment_of(job: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of a job of the plan."""
    return {str(item["name"]): str(item["value"]) for item in job["environment"]}
