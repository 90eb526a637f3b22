# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of a runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.job import JobContainer
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from ..._cluster.node import Node
from ..._cluster.policy import ClusterPolicy
from ..._cluster.starter import StarterChoice

ORIGIN = "launch_runtime"


@frozen
class Part:
    """One node's part of a run, as far as a runtime needs it; topology_file is the one that rule D8 may name."""

    run_id: str
    nonce: str
    node: str
    node_rank: int
    run_dir: str
    topology_file: str | None


@frozen
class Execution:
    """How a node's command runs: the interpreter, the starter of its runner, and its container if any.

    wrapper is what stands in front of the launcher's command, environment the runtime's defaults, with reasons.
    """

    python: str
    starter: StarterChoice
    container: JobContainer | None = None
    wrapper: tuple[str, ...] = ()
    environment: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@frozen
class Runtime:
    """A runtime: how a node's command runs, and the facts that are valid inside the runtime."""

    execution: Callable[[ClusterPolicy, Node, Part], Execution]
    facts_inside_runtime: Callable[[NodeFacts], NodeFacts]
