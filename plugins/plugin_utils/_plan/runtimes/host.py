# SPDX-License-Identifier: GPL-3.0-or-later
"""host: the runner is a process of the node, with the node's interpreter."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from ..._cluster import starter
from ..._cluster.policy import ClusterPolicy
from .base import Execution, Part


def execution(policy: ClusterPolicy, facts: NodeFacts, _part: Part) -> Execution:
    """Run it detached, with the starter that the node's systemd and user allow."""
    return Execution(python=facts.python.path or facts.python.command, starter=starter.choose(policy.starter, facts))


def facts_inside_runtime(facts: NodeFacts) -> NodeFacts:
    """Return the facts as they are."""
    return facts
