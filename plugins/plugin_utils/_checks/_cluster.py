# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster that checks look at, made of what the nodes answered."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.plugin_utils._checks._model import Cluster, Node
from ansible_collections.muster.train.plugins.plugin_utils._detected import Answer, Policy, detect


def cluster_of(answers: Sequence[Answer], rules: Policy, of: Cluster) -> Cluster:
    """Return `of` (profile, thresholds, launch, clock) with the nodes and what the environment's rules found there."""
    report = detect(answers, rules)
    layers = {each.name: [*rules.layers, *each.layers] for each in answers}
    addresses = {each.name: each.address for each in answers}
    nodes = {
        node.name: Node(
            name=node.name,
            facts=node.facts,
            rdma=node.rdma,
            gpu=node.gpu,
            address=addresses[node.name],
            env=_merged(layers[node.name]),
        )
        for node in report.nodes
        if node.facts is not None
    }
    return dataclasses.replace(
        of,
        nodes=nodes,
        silent={node.name: node.why for node in report.nodes if node.facts is None},
        addresses=addresses,
        decided=tuple(each for each in report.all_findings if each.node is None or each.node in nodes),
        chosen={node.name: tuple(node.hcas) for node in report.nodes},
        gids={node.name: node.gids for node in report.nodes},
        fabric=report.fabric.value if report.fabric else None,
    )


def _merged(layers: Sequence[tuple[Any, str]]) -> dict[str, Any]:
    return {str(name): value for own, _origin in layers if isinstance(own, Mapping) for name, value in own.items()}
