# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of every node's ranks: the resolver's decisions below what users set.

Layers, later wins: inherited, machine, fabric, cluster, node, run. Users' values and what is inherited are read first,
because the resolver decides the rest to fit them; of the fabric, D1 and D4 override what is inherited. `decide` is the
only place that does this, for a launch and for everything that shows what a launch would set.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable

from .._cluster.head_address import interface_towards, is_reachable, rules_towards
from .._cluster.head_name import decide_address
from .._cluster.node import Node, NodeAnswer, UserLayer
from .._cluster.policy import ClusterPolicy
from .._findings.errors import display
from .._findings.finding import Finding
from .._findings.origin import DEFAULT, FOR_ONE_RUN, LAUNCH_ENV, Layer, Origin
from .._findings.remedy import Option, sentence
from . import tuning, variable_layers
from .inherited import INSIDE, environment_of, layers_of
from .library import Library, library_of, numbers
from .lint.lint import lint, lint_cluster
from .resolver import FabricPolicy, NodeEnvironment, NodeView, resolve
from .view import Fabric

UNTUNED: variable_layers.Settings = {name: {"value": None, **DEFAULT.to_dict()} for name in ("channels", "threads")}


@frozen
class Users:
    """What users set for all nodes: the fabric, the layers below and above those of a node, channels and threads."""

    fabric: FabricPolicy
    cluster: Sequence[UserLayer] = ()
    run: Sequence[UserLayer] = ()
    tuning: variable_layers.Settings = field(default_factory=lambda: UNTUNED)

    def values(self, node: Node) -> dict[str, Any]:
        """Return what users set for the ranks of a node, or the ranks inherit as real variables, by name."""
        layers = [values for values, _origin in (*environment_of(node.facts), *self.cluster, *node.layers, *self.run)]
        return {name: value for values in layers if isinstance(values, Mapping) for name, value in values.items()}


@frozen
class Environments:
    """The fabric of all nodes, and by node the resolver's input, and what is set and not set."""

    fabric: Fabric
    views: dict[str, NodeView]
    nodes: dict[str, NodeEnvironment]
    findings: list[Finding]


def make(
    nodes: Sequence[Node],
    settings: variable_layers.Settings,
    cluster_env: Any,
    head_address: str,
    ranks_on_machine: Mapping[str, int],
) -> Environments:
    """Decide every node's environment for a launch; cluster_env is launch_env, ranks_on_machine is by node."""
    views = []
    for node in nodes:
        machine = variable_layers.of_the_machine(node.facts.cpus, ranks_on_machine[node.name])
        views.append(view_of(node, library_of(node.facts, node.gpu), machine))
    return decide(views, users_of(settings, cluster_env), head_address)


def users_of(settings: variable_layers.Settings, cluster_env: Any, more: Sequence[UserLayer] = ()) -> Users:
    """Return what users set for all nodes: the parameters mode, env, channels and threads, and launch_env.

    more are layers of the cluster above these.
    """
    mode, env = settings["mode"], settings["env"]
    layer = [(env["value"] or {}, Origin.of(env))]
    for_one_run = env["layer"] in FOR_ONE_RUN
    return Users(
        fabric=FabricPolicy(mode["value"], Origin.of(mode)),
        cluster=[(cluster_env, LAUNCH_ENV), *([] if for_one_run else layer), *more],
        run=layer if for_one_run else [],
        tuning=settings,
    )


def decide_for(
    answers: Sequence[NodeAnswer], policy: ClusterPolicy, users: Users
) -> tuple[Environments | None, list[Finding]]:
    """Decide as a launch would, for the nodes that answered, the head first; also return all findings."""
    nodes = {answer.name: answer for answer in answers if isinstance(answer, Node)}
    if inside := INSIDE.get(policy.runtime):
        nodes = {name: dataclasses.replace(node, facts=inside(node.facts)) for name, node in nodes.items()}
    address, findings = _head_address(answers, nodes, policy)
    if policy.version and numbers(policy.version) is None:
        findings.append(_invalid("nccl_env_version", policy.version, "a version such as 2.23.4"))
    if policy.head_address and not is_reachable(policy.head_address):
        expected = "an IP address or a host name"
        findings.append(_invalid(policy.head_address_origin, policy.head_address, expected))
    if not nodes:
        return None, findings
    views = [view_of(node, _library(library_of(node.facts, node.gpu), policy)) for node in nodes.values()]
    decided = decide(views, users, address)
    return decided, [*findings, *decided.findings]


def _invalid(name: str, value: str, expected: str) -> Finding:
    remedy = f"correct {name}, or remove it"
    observed = f"{name} is {display(value)}"
    return Finding("environment", None, "fail", observed, expected, "variables of the first node", remedy)


def _head_address(
    answers: Sequence[NodeAnswer], nodes: Mapping[str, Node], policy: ClusterPolicy
) -> tuple[str, list[Finding]]:
    head = nodes.get(answers[0].name) if answers else None
    if head is None or head.facts.net is None:
        return policy.head_address, []
    facts = {name: node.facts for name, node in nodes.items()}
    address, findings = decide_address(facts, policy.head_address, head.address)
    return address.value, findings


def _library(detected: Library, policy: ClusterPolicy) -> Library:
    """Return the policy's library, else the detected one."""
    if not policy.library and not policy.version:
        return detected
    name = policy.library or detected.name
    version = numbers(policy.version) if policy.version else detected.version if name == detected.name else None
    return Library("rccl" if name == "rccl" else "nccl", version, "given")


def view_of(node: Node, library: Library, machine: Sequence[Variable] = ()) -> NodeView:
    """Return the resolver's input for a node; machine is what follows from the machine whatever the fabric."""
    container = node.facts.container
    return NodeView(
        name=node.name,
        rdma=node.rdma,
        gpu=node.gpu,
        net=node.facts.net,
        library=library,
        container=None if container is None else container.kind is not None,
        layers=node.layers,
        inherited=layers_of(node.facts, library),
        machine=machine,
    )


def decide(nodes: Sequence[NodeView], users: Users, head_address: str) -> Environments:
    """Decide every node's environment, the head first; an empty head_address is unknown."""
    findings: list[Finding] = []
    cluster = _read(users.cluster, None, findings)
    run = _read(users.run, None, findings)
    by_node, inherited, views = {}, {}, {}
    for node in nodes:
        inherited[node.name] = _read(node.inherited, node.name, findings, variable_layers.inherited_layer)
        by_node[node.name] = _read(node.layers, node.name, findings)
        users_layers = (*inherited[node.name], *cluster, *by_node[node.name], *run)
        values = {item.name: item.value for layer in users_layers for item in layer}
        interface = interface_towards(head_address, node.net) if node.net else None
        views[node.name] = dataclasses.replace(node, interface=interface, user_values=values)
    resolution = resolve(list(views.values()), users.fabric)
    if head_address:
        findings += [_no_interface(view.name, head_address) for view in views.values() if view.interface is None]
        findings += [finding for view in views.values() for finding in _policy_routing(view, head_address)]
    findings += resolution.findings
    environments = {}
    for view in views.values():
        resolved = resolution.nodes[view.name]
        if view.has_gpus:
            findings += tuning.limit_findings(users.tuning, view.library, view.name)
        # A parameter of this run wins over a node's variables, its default does not.
        decided = [*resolved.variables, *tuning.variables(users.tuning, view.library)]
        detected = [item for item in decided if item.layer == Layer.FABRIC]
        run_decisions = [item for item in decided if item.layer in FOR_ONE_RUN]
        default_decisions = [item for item in decided if item.layer not in (Layer.FABRIC, *FOR_ONE_RUN)]
        below = [*inherited[view.name], view.machine, detected, default_decisions]
        merged = variable_layers.merge([*below, *cluster, *by_node[view.name], run_decisions, *run])
        names = {item.name for item in merged}
        not_set = [item for item in resolved.not_set if item.name not in names]
        environments[view.name] = dataclasses.replace(resolved, variables=merged, not_set=not_set)
        findings += lint(view, merged, resolution.fabric, users.fabric)
    findings += lint_cluster({name: environment.variables for name, environment in environments.items()})
    return Environments(resolution.fabric, views, environments, findings)


def _read(
    layers: Sequence[UserLayer],
    node: str | None,
    findings: list[Finding],
    read: Callable[..., tuple[list[Variable], list[Finding]]] = variable_layers.user_layer,
) -> list[list[Variable]]:
    """Read users' layers, or what is inherited; what cannot be a variable is added to the findings."""
    result = []
    for values, origin in layers:
        layer, refused = read(values, origin, node)
        result.append(layer)
        findings += refused
    return result


def _no_interface(node: str, address: str) -> Finding:
    observed = f"no route says which interface leads to the head's address {address}"
    expected = "one interface, for NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME"
    to = " to an IP address that the node has a route to"
    remedy = sentence("set both in ", Option.NODE_ENV, ", or ", Option.HEAD_ADDRESS, to)
    return Finding("interface", node, "warn", observed, expected, "facts net", remedy)


def _policy_routing(node: NodeView, address: str) -> list[Finding]:
    if node.net is None or node.interface is None or not (rules := rules_towards(address, node.net)):
        return []
    shown = ", ".join(f"{rule.priority} (table {rule.table})" for rule in rules)
    observed = f"rules of policy routing come before the route through {node.interface.name}: {shown}"
    expected = f"the interface towards the head's address {address}"
    both = "NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME"
    ask = f"run ip route get {address} there; if it names another interface, set {both} in "
    return [Finding("interface", node.name, "warn", observed, expected, "ip rule", sentence(ask, Option.NODE_ENV))]
