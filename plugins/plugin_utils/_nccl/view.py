# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the resolver is given and what it answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import Net
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma

from .._cluster.head_address import Interface
from .._cluster.node import UserLayer
from .._findings.finding import Finding
from .._findings.origin import FABRIC, Origin
from .fabric import Fabric
from .library import Library
from .variable_layers import variable


@dataclasses.dataclass(frozen=True)
class NodeView:
    """What the resolver knows of a node: None is what could not be read.

    layers and machine are what users set for this node alone and what follows from the machine whatever the fabric. The
    resolver adds interface, which leads to the head, and given, what users set for the node by name: their values win,
    so it decides the rest to fit.
    """

    name: str
    rdma: Rdma | None
    gpu: Gpu | None
    net: Net | None
    library: Library
    container: bool | None = None
    layers: Sequence[UserLayer] = ()
    machine: Sequence[Variable] = ()
    interface: Interface | None = None
    given: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def has_gpus(self) -> bool:
        """Whether NCCL will have something to do here; unknown GPUs count."""
        return self.gpu is None or self.gpu.count > 0


@dataclasses.dataclass(frozen=True)
class FabricPolicy:
    """The parameter mode (auto, rdma or tcp), and where its value is from."""

    mode: str
    origin: Origin


@dataclasses.dataclass(frozen=True)
class NotSet:
    """A variable that was left out on purpose, by which rule and why."""

    name: str
    rule: str
    reason: str


@dataclasses.dataclass(frozen=True)
class NodeEnvironment:
    """What the resolver decided for a node; hcas are the devices that NCCL is meant to use, in natural order.

    gids are the indexes of the entries that RoCE ports should send from, by the ports' labels.
    """

    variables: list[Variable]
    not_set: list[NotSet]
    hcas: list[str]
    gids: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Resolution:
    """What the resolver decided for all nodes."""

    fabric: Fabric
    nodes: dict[str, NodeEnvironment]
    findings: list[Finding]

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def decided(name: str, value: str, rule: str, reason: str, origin: Origin = FABRIC) -> Variable:
    """Make a variable of the resolver's."""
    return variable(name, value, origin, reason, rule)


def version_text(library: Library) -> str:
    """Name the library as people do: NCCL 2.21.5, or NCCL of unknown version."""
    if library.version is None:
        return f"{library.name.upper()} of unknown version"
    return f"{library.name.upper()} {'.'.join(map(str, library.version))}"
