# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster that checks look at, made of what the nodes answered."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .._cluster.node import Answer, Node, Silent
from .._nccl.environments import Users, decide_for
from .model import Cluster


def cluster_of(answers: Sequence[Answer], users: Users, of: Cluster) -> Cluster:
    """Return `of` (profile, thresholds, launch, clock) with the nodes and what the environment's rules found there."""
    decided, found = decide_for(answers, of.policy, users)
    nodes = {each.name: each for each in answers if isinstance(each, Node)}
    environments = decided.nodes if decided else {}
    return dataclasses.replace(
        of,
        nodes=nodes,
        silent={each.name: each.why for each in answers if isinstance(each, Silent)},
        addresses={each.name: each.address for each in answers},
        layers=users.cluster,
        decided=tuple(each for each in dict.fromkeys(found) if each.node is None or each.node in nodes),
        chosen={name: tuple(environment.hcas) for name, environment in environments.items()},
        fabric=decided.fabric.value if decided else None,
    )
