# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a runtime is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ansible_collections.muster.train.plugins.module_utils._records.job import JobContainer
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts

from ..._cluster.policy import ClusterPolicy
from ..._cluster.starter import Choice

ORIGIN = "launch_runtime"


@dataclass(frozen=True)
class Part:
    """Whose part of which launch it is, as far as a runtime cares."""

    run_id: str
    nonce: str
    node: str
    node_rank: int
    run_dir: str


@dataclass(frozen=True)
class Way:
    """How a node's command runs: the interpreter, how its runner is started, and the container it lives in."""

    python: str
    starter: Choice
    container: JobContainer | None = None


@dataclass(frozen=True)
class Runtime:
    """One runtime's functions.

    way decides for one node, as_ranks_see_it leaves of the facts what holds for the ranks.
    """

    way: Callable[[ClusterPolicy, NodeFacts, Part], Way]
    as_ranks_see_it: Callable[[NodeFacts], NodeFacts]
