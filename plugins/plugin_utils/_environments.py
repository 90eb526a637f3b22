# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of every node's ranks: the resolver's answer below what users set. (`_environments.py` is private.)

Layers, later wins: machine, fabric, cluster, node, run. Users' values are read first, because the resolver decides the
rest to fit them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._gpu_records import Gpu
from ansible_collections.muster.train.plugins.module_utils._rdma_records import Rdma
from ansible_collections.muster.train.plugins.module_utils._records import NodeFacts, Variable
from ansible_collections.muster.train.plugins.plugin_utils import _environment, _head, _nccl_tuning
from ansible_collections.muster.train.plugins.plugin_utils._fabric import Fabric
from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding
from ansible_collections.muster.train.plugins.plugin_utils._library import library_of
from ansible_collections.muster.train.plugins.plugin_utils._nccl_env import FabricPolicy, NodeView, NotSet, resolve
from ansible_collections.muster.train.plugins.plugin_utils._nccl_lint import lint, lint_cluster


@dataclasses.dataclass(frozen=True)
class NodeInput:
    """What the plan knows of a node: address is how Ansible reaches it, env its launch_node_env.

    rdma and gpu are None where nobody could look. policy is what its own variables say of the cluster's policy, the
    head's all of it.
    """

    name: str
    address: str
    facts: NodeFacts
    env: Mapping[str, Any]
    policy: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    rdma: Rdma | None = None
    gpu: Gpu | None = None


@dataclasses.dataclass(frozen=True)
class Environments:
    """What is the same for all nodes, and by node what is set and what is left out on purpose."""

    fabric: Fabric
    variables: dict[str, list[Variable]]
    not_set: dict[str, list[NotSet]]
    findings: list[Finding]


def make(
    nodes: Sequence[NodeInput],
    settings: _environment.Settings,
    of_cluster: Any,
    head_address: str,
    ranks_on_machine: Mapping[str, int],
) -> Environments:
    """Decide every node's environment; of_cluster is what launch_env says, the other mapping is by node."""
    cluster, refused = _environment.user_layer(of_cluster, _environment.CLUSTER, None)
    env, refused_too = _environment.user_layer(settings["env"]["value"] or {}, settings["env"]["origin"], None)
    findings = [*refused, *refused_too]
    env_of_cluster, env_of_run = _environment.split(env)
    by_node: dict[str, list[Variable]] = {}
    views = []
    for node in nodes:
        by_node[node.name], refused = _environment.user_layer(node.env, _environment.NODE, node.name)
        findings += refused
        layers = [cluster, env_of_cluster, by_node[node.name], env_of_run]
        given = {variable.name: variable.value for layer in layers for variable in layer}
        views.append(_view(node, head_address, given))
    policy = FabricPolicy(settings["mode"]["value"], settings["mode"]["origin"])
    resolution = resolve(views, policy)
    findings += [no_interface(view.name, head_address) for view in views if view.interface is None]
    findings += resolution.findings
    variables, not_set = {}, {}
    for node, view in zip(nodes, views, strict=True):
        own = resolution.nodes[node.name]
        tuning = _nccl_tuning.variables(settings, view.library)
        if view.gpu is not None and view.gpu.count:
            findings += _nccl_tuning.beyond(settings, view.library, node.name)
        detected = [variable for variable in own.variables if variable.origin == _environment.FABRIC]
        asked = [variable for variable in own.variables if variable.origin != _environment.FABRIC]
        of_defaults, of_run = _environment.split([*tuning, *asked])
        merged = _environment.merge(
            [
                _environment.of_the_machine(node.facts.cpus, ranks_on_machine[node.name]),
                detected,
                of_defaults,
                cluster,
                env_of_cluster,
                by_node[node.name],
                of_run,
                env_of_run,
            ]
        )
        names = {variable.name for variable in merged}
        variables[node.name] = merged
        not_set[node.name] = [each for each in own.not_set if each.name not in names]
        for_one_run = {variable.origin for variable in env_of_run}
        findings += lint(view, merged, resolution.fabric, policy, for_one_run)
    return Environments(resolution.fabric, variables, not_set, [*findings, *lint_cluster(variables)])


def _view(node: NodeInput, head_address: str, given: Mapping[str, str]) -> NodeView:
    facts = node.facts
    return NodeView(
        name=node.name,
        rdma=node.rdma,
        gpu=node.gpu,
        net=facts.net,
        library=library_of(facts, node.gpu),
        interface=_head.interface_towards(head_address, facts.net) if facts.net else None,
        container=None if facts.container is None else facts.container.kind is not None,
        given=given,
    )


def no_interface(node: str, address: str) -> Finding:
    """A node whose way to the head is not known."""
    return Finding(
        check="interface",
        node=node,
        status="warn",
        observed=f"no route of it says which interface leads to the head's address {address}",
        expected="one interface, for NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME",
        source="facts net",
        remedy="set both in launch_node_env, or launch_head_address to an IPv4 address that the node has a route to",
    )
