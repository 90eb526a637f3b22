# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""host: the runner is the node's own process, the interpreter the node's."""

from __future__ import annotations

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from ..._cluster import starter
from ..._cluster.policy import ClusterPolicy
from .base import Part, Way


def way(policy: ClusterPolicy, facts: NodeFacts, _part: Part) -> Way:
    """Start it detached, as the node's systemd and user allow."""
    return Way(python=facts.python.path or facts.python.command, starter=starter.choose(policy.starter, facts))


def as_ranks_see_it(facts: NodeFacts) -> NodeFacts:
    """Return the facts as they are."""
    return facts
