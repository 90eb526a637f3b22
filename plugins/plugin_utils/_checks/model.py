# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What checks look at, and how they say what they saw.

A check is a pure function of a `Cluster`. On every node that answered it says what it saw, also where all is well.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from .._cluster.node import Node, UserLayer
from .._cluster.policy import ClusterPolicy
from .._findings.finding import Finding, Status
from .._findings.remedy import Remedy
from .thresholds import Thresholds

PROFILE = "preflight_expected"


@dataclasses.dataclass(frozen=True)
class Launch:
    """What the parameters of a launch say here, as far as checks depend on it. call is how commands are called."""

    launcher: str = "torchrun"
    port: int | None = None
    port_origin: str = "default"
    nonce: str = "0"
    restarts: int = 0
    files: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    call: str | None = None


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The nodes that answered in node-rank order, by name; silent: why the others did not.

    layers are the environment of all ranks, expected is the inventory's profile, received the controller's clock when
    the last answer was there. decided are the findings of the environment's rules over these nodes.
    """

    nodes: Mapping[str, Node]
    silent: Mapping[str, str] = dataclasses.field(default_factory=dict)
    addresses: Mapping[str, str] = dataclasses.field(default_factory=dict)
    expected: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    thresholds: Thresholds = dataclasses.field(default_factory=Thresholds)
    policy: ClusterPolicy = dataclasses.field(default_factory=ClusterPolicy)
    launch: Launch = dataclasses.field(default_factory=Launch)
    received: float | None = None
    decided: Sequence[Finding] = ()
    chosen: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    gids: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    fabric: str | None = None
    allowed_processes: tuple[str, ...] = ()
    layers: Sequence[UserLayer] = ()

    @property
    def facts(self) -> dict[str, NodeFacts]:
        return {name: node.facts for name, node in self.nodes.items()}

    def environment(self, node: Node) -> dict[str, Any]:
        """Return what users set for the ranks of a node."""
        layers = [values for values, _origin in (*self.layers, *node.layers) if isinstance(values, Mapping)]
        return {str(name): value for values in layers for name, value in values.items()}


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a check saw on a node."""

    status: Status
    observed: str
    expected: str = ""
    source: str = ""
    remedy: Remedy | str = ""


Level = Literal["fail", "warn", "off"]
Looks = Iterable[tuple[str | None, Seen]]  # by node, or of the whole cluster
Look = Callable[[Cluster], Looks]
LookAtNode = Callable[[Node, Cluster], "Seen | Iterable[Seen]"]


def fine(observed: str, source: str = "", expected: str = "") -> Seen:
    """All is well."""
    return Seen("pass", observed, expected, source)


def skip(observed: str) -> Seen:
    """There is nothing here that the check is about."""
    return Seen("skip", observed)


def unknown(observed: str, part: str, remedy: str = "") -> Seen:
    """Nobody could look: never a pass."""
    asked = remedy or "look at the warnings of node_facts there (-vv shows how it was asked)"
    return Seen("error", observed, "", f"facts {part}", asked)


def seen_of(found: Finding) -> Seen:
    """Return what a finding says, whatever its name and node."""
    return Seen(found.status, found.observed, found.expected, found.source, found.remedy)


def on_nodes(look: LookAtNode) -> Look:
    """Make a check of a function that looks at one node."""

    def of_cluster(cluster: Cluster) -> Looks:
        for node in cluster.nodes.values():
            seen = look(node, cluster)
            for each in [seen] if isinstance(seen, Seen) else seen:
                yield node.name, each

    return of_cluster


def completed(cluster: Cluster, found: Looks, well: Callable[[Node], Seen]) -> Looks:
    """Return what was found and, of the nodes it says nothing of, what `well` says."""
    named = set()
    for name, seen in found:
        named.add(name)
        yield name, seen
    for node in cluster.nodes.values():
        if node.name not in named:
            yield node.name, well(node)
