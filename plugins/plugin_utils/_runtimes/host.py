# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""host: the runner is the node's own process, the interpreter the node's."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ansible_collections.muster.train.plugins.module_utils._records import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils import _agree, _starter
from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding
from ansible_collections.muster.train.plugins.plugin_utils._policy import Policy
from ansible_collections.muster.train.plugins.plugin_utils._runtimes._way import Part, Way


def way(policy: Policy, facts: NodeFacts, _part: Part) -> Way:
    """Start it detached, as the node's systemd and user allow."""
    return Way(python=facts.python.path or facts.python.command, starter=_starter.choose(policy.starter, facts))


def check(policy: Policy, nodes: Mapping[str, NodeFacts], torchrun: bool, elsewhere: Collection[str]) -> list[Finding]:
    """Find nodes without the interpreter, without torch for torchrun, or without the starter that is asked for."""
    findings = [*_agree.check_python(nodes), *_starter.check(policy.starter, nodes)]
    return findings + (_agree.check_torch(nodes, elsewhere) if torchrun else [])


def as_ranks_see_it(facts: NodeFacts) -> NodeFacts:
    """Return the facts as they are."""
    return facts
