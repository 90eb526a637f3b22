# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was detected: every node's facts, and the environment they lead to. (`_detected.py` is private.)

A pure function of what the nodes answered and the cluster's policy: no clock, no file, no environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._gpu_records import Gpu
from ansible_collections.muster.train.plugins.module_utils._rdma_records import Rdma
from ansible_collections.muster.train.plugins.module_utils._records import Net, NodeFacts, Variable
from ansible_collections.muster.train.plugins.plugin_utils import _agree, _environment, _head
from ansible_collections.muster.train.plugins.plugin_utils._environments import no_interface
from ansible_collections.muster.train.plugins.plugin_utils._fabric import Fabric
from ansible_collections.muster.train.plugins.plugin_utils._findings import Finding
from ansible_collections.muster.train.plugins.plugin_utils._gpu_findings import find_gpus
from ansible_collections.muster.train.plugins.plugin_utils._library import Library, library_of, numbers
from ansible_collections.muster.train.plugins.plugin_utils._nccl_env import FabricPolicy, NodeView, NotSet, resolve
from ansible_collections.muster.train.plugins.plugin_utils._nccl_lint import lint, lint_cluster

SCHEMA = 1


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a node answered: facts are its `ansible_facts`, or None and why not.

    address is how Ansible reaches the node, variables its own: environment of one node's ranks, from the inventory.
    """

    name: str
    facts: Mapping[str, Any] | None
    why: str = ""
    address: str = ""
    variables: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Policy:
    """What the cluster's owner decided.

    library is nccl, rccl or empty, version as in 2.23.4 or empty: then each node's facts tell. head_address may be
    empty. variables is the environment of all ranks; the two origins are the names of the inventory's variables.
    """

    mode: str = "auto"
    mode_origin: str = "default"
    head_address: str = ""
    library: str = ""
    version: str = ""
    variables: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    origin: str = _environment.CLUSTER
    node_origin: str = _environment.NODE


@dataclasses.dataclass(frozen=True)
class NodeReport:
    """A node as it was found, and what its ranks would get; without an answer only `name` and `why` say something."""

    name: str
    why: str = ""
    rdma: Rdma | None = None
    gpu: Gpu | None = None
    facts: NodeFacts | None = None
    library: Library | None = None
    interface: _head.Interface | None = None
    hcas: list[str] = dataclasses.field(default_factory=list)
    environment: list[Variable] = dataclasses.field(default_factory=list)
    not_set: list[NotSet] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)

    @property
    def answered(self) -> bool:
        return self.facts is not None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the facts have the names and shapes of `ansible_facts`."""
        data = dataclasses.asdict(self)
        facts = {"rdma": data.pop("rdma"), "gpu": data.pop("gpu"), "node": data.pop("facts")}
        return {"name": self.name, "answered": self.answered, **data, "facts": facts}


@dataclasses.dataclass(frozen=True)
class ClusterReport:
    """All nodes in node-rank order; findings are those of the whole cluster."""

    nodes: list[NodeReport]
    fabric: Fabric | None
    mode: str
    findings: list[Finding]

    @property
    def all_findings(self) -> list[Finding]:
        """The cluster's findings, then each node's."""
        return [*self.findings, *(finding for node in self.nodes for finding in node.findings)]

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "mode": self.mode,
            "fabric": dataclasses.asdict(self.fabric) if self.fabric else None,
            "nodes": {node.name: node.to_dict() for node in self.nodes},
            "findings": [finding.to_dict() for finding in self.findings],
        }


def detect(answers: Sequence[Answer], policy: Policy) -> ClusterReport:
    """Report on all nodes, the head first. What was decided holds for the nodes that answered."""
    facts = {each.name: NodeFacts.from_dict(each.facts["node"]) for each in answers if each.facts}
    address, findings = _head_address(answers, facts, policy)
    given, refused = _given(answers, policy)
    findings += [*refused, *(_no_answer(each) for each in answers if not each.facts)]
    views = {
        each.name: _view(each, facts[each.name], address, policy, given[each.name]) for each in answers if each.facts
    }
    if not views:
        nobody = [NodeReport(each.name, each.why, findings=_of(each.name, findings)) for each in answers]
        return ClusterReport(nobody, None, policy.mode, _of(None, findings))
    of_fabric = FabricPolicy(policy.mode, policy.mode_origin)
    resolution = resolve(list(views.values()), of_fabric)
    environments = {name: _layered(resolution.nodes[name].variables, given[name]) for name in views}
    if address:
        findings += [no_interface(view.name, address) for view in views.values() if view.interface is None]
    findings += resolution.findings
    for view in views.values():
        findings += find_gpus(view.name, view.gpu) if view.gpu else []
    for name, view in views.items():
        findings += lint(view, environments[name], resolution.fabric, of_fabric)
    findings += lint_cluster(environments)
    reports = []
    for each in answers:
        report = NodeReport(each.name, each.why, findings=_of(each.name, findings))
        if each.name in views:
            view, own = views[each.name], resolution.nodes[each.name]
            report = dataclasses.replace(
                report,
                rdma=view.rdma,
                gpu=view.gpu,
                facts=facts[each.name],
                library=view.library,
                interface=view.interface,
                hcas=own.hcas,
                environment=environments[each.name],
                not_set=own.not_set,
            )
        reports.append(report)
    return ClusterReport(reports, resolution.fabric, policy.mode, _of(None, findings))


def _layered(resolved: Iterable[Variable], given: Iterable[Iterable[Variable]]) -> list[Variable]:
    """Lay what users set on what was detected, and on both what the verb itself was asked for, as a launch does."""
    variables = list(resolved)
    detected = [variable for variable in variables if variable.origin == _environment.FABRIC]
    asked = [variable for variable in variables if variable.origin != _environment.FABRIC]
    of_cluster, of_verb = _environment.split(asked)
    return _environment.merge([detected, of_cluster, *given, of_verb])


def _given(answers: Iterable[Answer], policy: Policy) -> tuple[dict[str, list[list[Variable]]], list[Finding]]:
    """Read what users set: for each node the cluster's layer and its own, and what of it cannot be a variable."""
    cluster, findings = _environment.user_layer(policy.variables, policy.origin, None)
    layers = {}
    for each in answers:
        own, refused = _environment.user_layer(each.variables, policy.node_origin, each.name)
        layers[each.name] = [cluster, own]
        findings += refused
    return layers, findings


def _of(node: str | None, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings of one node, each once; None: of the cluster."""
    return list(dict.fromkeys(finding for finding in findings if finding.node == node))


def _head_address(
    answers: Sequence[Answer], facts: Mapping[str, NodeFacts], policy: Policy
) -> tuple[str, list[Finding]]:
    head = answers[0] if answers else None
    if head is None or head.name not in facts:
        return policy.head_address, []
    net = facts[head.name].net
    if net is None:
        return policy.head_address, []
    together = _agree.share_network(facts)
    address, findings = _head.choose_address(head.name, policy.head_address, head.address, net, together)
    return address.value, findings


def _view(
    answer: Answer, facts: NodeFacts, address: str, policy: Policy, given: Iterable[Iterable[Variable]]
) -> NodeView:
    assert answer.facts is not None
    rdma, gpu = answer.facts.get("rdma"), answer.facts.get("gpu")
    devices = Gpu.from_dict(gpu) if gpu else None
    return NodeView(
        name=answer.name,
        rdma=Rdma.from_dict(rdma) if rdma else None,
        gpu=devices,
        net=facts.net,
        library=_library(library_of(facts, devices), policy),
        interface=_interface(address, facts.net),
        container=None if facts.container is None else facts.container.kind is not None,
        given={variable.name: variable.value for layer in given for variable in layer},
    )


def _library(found: Library, policy: Policy) -> Library:
    """Take what the policy says of the library, else what the node's files tell."""
    if not policy.library and not policy.version:
        return found
    name = policy.library or found.name
    version = numbers(policy.version) if policy.version else found.version if name == found.name else None
    return Library("rccl" if name == "rccl" else "nccl", version, "given")


def _interface(address: str, net: Net | None) -> _head.Interface | None:
    return _head.interface_towards(address, net) if address and net else None


def _no_answer(answer: Answer) -> Finding:
    return Finding(
        check="facts",
        node=answer.name,
        status="error",
        observed=answer.why or "nothing is known about this node",
        expected="its facts",
        source="module node_facts",
        remedy=f"see that Ansible reaches it: ansible {answer.name} -m ansible.builtin.ping",
    )
