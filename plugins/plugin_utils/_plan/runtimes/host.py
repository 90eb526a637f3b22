# SPDX-License-Identifier: GPL-3.0-or-later
"""host: the runner is a process of the node, with the node's interpreter."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from ..._cluster import starter
from ..._cluster.node import Node
from ..._cluster.policy import ClusterPolicy
from .base import Execution, Part


def execution(policy: ClusterPolicy, node: Node, _part: Part) -> Execution:
    """Run it detached, with the starter that the node's systemd and user allow."""
    python = node.facts.python
    return Execution(python=python.path or python.command, starter=starter.choose(policy.starter, node))


def facts_inside_runtime(facts: NodeFacts) -> NodeFacts:
    """Return the facts as they are."""
    return facts
