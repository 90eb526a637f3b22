# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of every node's ranks: the resolver's answer below what users set.

Layers, later wins: machine, fabric, cluster, node, run. Users' values are read first, because the resolver decides the
rest to fit them. `decide` is the one place where this is done, for a launch and for all that tells what it would set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from .._cluster.head_address import choose_address, interface_towards, is_reachable
from .._cluster.machines import share_network
from .._cluster.node import Answer, Node, UserLayer
from .._cluster.policy import ClusterPolicy
from .._findings.errors import display
from .._findings.finding import Finding
from .._findings.origin import DEFAULT, FOR_ONE_RUN, LAUNCH_ENV, Layer, Origin
from .._findings.remedy import Option, sentence
from . import variable_layers
from .fabric import Fabric
from .library import Library, library_of, numbers
from .lint.lint import lint, lint_cluster
from .resolver import FabricPolicy, NodeEnvironment, NodeView, resolve
from .tuning import beyond as tuning_beyond
from .tuning import variables

UNTUNED: variable_layers.Settings = {name: {"value": None, **DEFAULT.to_dict()} for name in ("channels", "threads")}


@dataclasses.dataclass(frozen=True)
class Users:
    """What users set for all nodes: the fabric, the layers below and above those of a node, channels and threads."""

    fabric: FabricPolicy
    cluster: Sequence[UserLayer] = ()
    run: Sequence[UserLayer] = ()
    tuning: variable_layers.Settings = dataclasses.field(default_factory=lambda: UNTUNED)


@dataclasses.dataclass(frozen=True)
class Environments:
    """What is the same for all nodes, and by node what was looked at, what is set and what is left out on purpose."""

    fabric: Fabric
    views: dict[str, NodeView]
    nodes: dict[str, NodeEnvironment]
    findings: list[Finding]


def make(
    nodes: Sequence[Node],
    settings: variable_layers.Settings,
    of_cluster: Any,
    head_address: str,
    ranks_on_machine: Mapping[str, int],
) -> Environments:
    """Decide every node's environment for a launch; of_cluster is launch_env, the other mapping is by node."""
    inputs = [
        view_of(
            node,
            library_of(node.facts, node.gpu),
            variable_layers.of_the_machine(node.facts.cpus, ranks_on_machine[node.name]),
        )
        for node in nodes
    ]
    return decide(inputs, users_of(settings, of_cluster), head_address)


def users_of(settings: variable_layers.Settings, of_cluster: Any, more: Sequence[UserLayer] = ()) -> Users:
    """Return what users set for all nodes: the parameters mode, env, channels and threads, and launch_env.

    more is layers of the cluster's above these.
    """
    mode, env = settings["mode"], settings["env"]
    given = (env["value"] or {}, Origin.of(env))
    standing = env["layer"] not in FOR_ONE_RUN
    return Users(
        fabric=FabricPolicy(mode["value"], Origin.of(mode)),
        cluster=[(of_cluster, LAUNCH_ENV), *([given] if standing else []), *more],
        run=[] if standing else [given],
        tuning=settings,
    )


def decide_for(
    answers: Sequence[Answer], policy: ClusterPolicy, users: Users
) -> tuple[Environments | None, list[Finding]]:
    """Decide as a launch would, for the nodes that answered, the head first; return all findings of it, too."""
    nodes = {each.name: each for each in answers if isinstance(each, Node)}
    address, findings = _head_address(answers, nodes, policy)
    findings += _refused(policy)
    if not nodes:
        return None, findings
    views = [view_of(node, _library(library_of(node.facts, node.gpu), policy)) for node in nodes.values()]
    decided = decide(views, users, address)
    return decided, [*findings, *decided.findings]


def _refused(policy: ClusterPolicy) -> list[Finding]:
    """Find what of the policy is no such thing."""
    found = []
    if policy.version and numbers(policy.version) is None:
        found.append(_no_such("nccl_env_version", policy.version, "a version such as 2.23.4"))
    if policy.head_address and not is_reachable(policy.head_address):
        found.append(_no_such(policy.head_address_origin, policy.head_address, "an IP address or a host name"))
    return found


def _no_such(name: str, value: str, expected: str) -> Finding:
    return Finding(
        check=name,
        node=None,
        status="fail",
        observed=f"it is {display(value)}",
        expected=expected,
        source="variables of the first node",
        remedy=f"correct {name}, or leave it out",
    )


def _head_address(
    answers: Sequence[Answer], nodes: Mapping[str, Node], policy: ClusterPolicy
) -> tuple[str, list[Finding]]:
    head = nodes.get(answers[0].name) if answers else None
    if head is None or head.facts.net is None:
        return policy.head_address, []
    together = share_network({name: node.facts for name, node in nodes.items()})
    address, findings = choose_address(head.name, policy.head_address, head.address, head.facts.net, together)
    return address.value, findings


def _library(found: Library, policy: ClusterPolicy) -> Library:
    """Take what the policy says of the library, else what the node's files tell."""
    if not policy.library and not policy.version:
        return found
    name = policy.library or found.name
    version = numbers(policy.version) if policy.version else found.version if name == found.name else None
    return Library("rccl" if name == "rccl" else "nccl", version, "given")


def view_of(node: Node, library: Library, machine: Sequence[Variable] = ()) -> NodeView:
    """Return what decides of a node's environment; machine is what follows from the machine whatever the fabric."""
    container = node.facts.container
    return NodeView(
        name=node.name,
        rdma=node.rdma,
        gpu=node.gpu,
        net=node.facts.net,
        library=library,
        container=None if container is None else container.kind is not None,
        layers=node.layers,
        machine=machine,
    )


def decide(nodes: Sequence[NodeView], users: Users, head_address: str) -> Environments:
    """Decide every node's environment, the head first; an empty head_address is not known."""
    cluster, findings = _read(users.cluster, None)
    run, refused = _read(users.run, None)
    findings += refused
    own: dict[str, list[list[Variable]]] = {}
    views = {}
    for node in nodes:
        own[node.name], refused = _read(node.layers, node.name)
        findings += refused
        given = {each.name: each.value for layer in (*cluster, *own[node.name], *run) for each in layer}
        interface = interface_towards(head_address, node.net) if node.net else None
        views[node.name] = dataclasses.replace(node, interface=interface, given=given)
    resolution = resolve(list(views.values()), users.fabric)
    if head_address:
        findings += [no_interface(view.name, head_address) for view in views.values() if view.interface is None]
    findings += resolution.findings
    environments = {}
    for node in nodes:
        view, resolved = views[node.name], resolution.nodes[node.name]
        if view.has_gpus:
            findings += tuning_beyond(users.tuning, view.library, node.name)
        tuning = variables(users.tuning, view.library)
        detected = [variable for variable in resolved.variables if variable.layer == Layer.FABRIC]
        asked = [variable for variable in resolved.variables if variable.layer != Layer.FABRIC]
        of_defaults, of_run = variable_layers.split([*tuning, *asked])
        merged = variable_layers.merge([node.machine, detected, of_defaults, *cluster, *own[node.name], of_run, *run])
        names = {variable.name for variable in merged}
        not_set = [each for each in resolved.not_set if each.name not in names]
        environments[node.name] = NodeEnvironment(merged, not_set, resolved.hcas, resolved.gids)
        findings += lint(view, merged, resolution.fabric, users.fabric)
    findings += lint_cluster({name: environment.variables for name, environment in environments.items()})
    return Environments(resolution.fabric, views, environments, findings)


def _read(layers: Sequence[UserLayer], node: str | None) -> tuple[list[list[Variable]], list[Finding]]:
    """Read users' layers; what of them cannot be a variable is a finding."""
    read, findings = [], []
    for values, origin in layers:
        layer, refused = variable_layers.user_layer(values, origin, node)
        read.append(layer)
        findings += refused
    return read, findings


def no_interface(node: str, address: str) -> Finding:
    """A node whose way to the head is not known."""
    return Finding(
        check="interface",
        node=node,
        status="warn",
        observed=f"no route of it says which interface leads to the head's address {address}",
        expected="one interface, for NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME",
        source="facts net",
        remedy=sentence(
            "set both in ",
            Option.NODE_ENV,
            ", or ",
            Option.HEAD_ADDRESS,
            " to an IPv4 address that the node has a route to",
        ),
    )
