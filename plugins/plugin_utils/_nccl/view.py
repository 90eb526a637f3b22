# SPDX-License-Identifier: GPL-3.0-or-later
"""The resolver's input and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import Net
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma

from .._cluster.head_address import HeadInterface
from .._cluster.node import UserLayer
from .._findings.finding import Finding
from .._findings.origin import FABRIC, Origin
from .gid_table import Network
from .library import Library
from .variable_layers import variable


@frozen
class NodeView:
    """What the resolver knows about a node; None is unknown.

    layers holds what users set for this node alone, inherited what its ranks get without a launch, machine what
    follows from the machine whatever the fabric. `environments.decide` adds interface, which leads to the head, and
    user_values, all that users set or ranks inherit, by name: the resolver decides the rest to fit them. What users set
    always wins; what is inherited wins, too, except over D1, the same on all nodes, and D4.
    """

    name: str
    rdma: Rdma | None
    gpu: Gpu | None
    net: Net | None
    library: Library
    container: bool | None = None
    layers: Sequence[UserLayer] = ()
    inherited: Sequence[UserLayer] = ()
    machine: Sequence[Variable] = ()
    interface: HeadInterface | None = None
    user_values: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_gpus(self) -> bool:
        """Whether NCCL has anything to do on this node; unknown GPUs count."""
        return self.gpu is None or self.gpu.count > 0


@frozen
class Fabric:
    """What the ranks communicate over, and why."""

    value: Literal["rdma", "tcp"]
    reason: str


@frozen
class FabricPolicy:
    """The parameter mode (auto, rdma or tcp) and its origin."""

    mode: str
    origin: Origin


@frozen
class NotSet:
    """A variable that is deliberately not set, by which rule and why."""

    name: str
    rule: str
    reason: str


@frozen
class NodeEnvironment:
    """What the resolver decided for a node.

    hcas are the devices that NCCL is meant to use, in natural order; gids are the indexes of the GID entries that RoCE
    ports should send from, and networks those of the ports' links, by the ports' labels.
    """

    variables: list[Variable]
    not_set: list[NotSet]
    hcas: list[str]
    gids: dict[str, int] = field(default_factory=dict)
    networks: dict[str, Network] = field(default_factory=dict)


@frozen
class Resolution:
    """What the resolver decided for all nodes."""

    fabric: Fabric
    nodes: dict[str, NodeEnvironment]
    findings: list[Finding]


def decided(name: str, value: str, rule: str, reason: str, origin: Origin = FABRIC) -> Variable:
    """Return a variable that the resolver sets."""
    return variable(name, value, origin, reason, rule)


def version_text(library: Library) -> str:
    """Return NCCL 2.21.5, or NCCL of unknown version."""
    return f"{library.name.upper()} {'.'.join(map(str, library.version)) if library.version else 'of unknown version'}"
