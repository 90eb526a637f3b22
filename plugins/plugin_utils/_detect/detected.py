# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was detected: every node's facts, and the environment they lead to.

A pure function of what the nodes answered and the cluster's policy: no clock, no file, no environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Rdma

from .._checks.gpu_findings import find_gpus
from .._cluster import head_address
from .._cluster.node import Answer, Node, Silent
from .._cluster.policy import ClusterPolicy
from .._findings.finding import Finding
from .._nccl.environments import Users, decide_for
from .._nccl.library import Library
from .._nccl.view import Fabric, NotSet

SCHEMA = 1


@dataclasses.dataclass(frozen=True)
class NodeReport:
    """A node as it was found, and what its ranks would get; without an answer only `name` and `why` say something.

    fabric is the cluster's, rdma or tcp.
    """

    name: str
    why: str = ""
    fabric: str | None = None
    rdma: Rdma | None = None
    gpu: Gpu | None = None
    facts: NodeFacts | None = None
    library: Library | None = None
    interface: head_address.Interface | None = None
    hcas: list[str] = dataclasses.field(default_factory=list)
    gids: dict[str, int] = dataclasses.field(default_factory=dict)
    environment: list[Variable] = dataclasses.field(default_factory=list)
    not_set: list[NotSet] = dataclasses.field(default_factory=list)
    findings: list[Finding] = dataclasses.field(default_factory=list)

    @property
    def answered(self) -> bool:
        return self.facts is not None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the facts have the names and shapes of `ansible_facts`."""
        data = dataclasses.asdict(self)
        data["findings"] = [finding.to_dict() for finding in self.findings]
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


def detect(answers: Sequence[Answer], policy: ClusterPolicy, users: Users) -> ClusterReport:
    """Report on all nodes, the head first. What was decided holds for the nodes that answered."""
    nodes = {each.name: each for each in answers if isinstance(each, Node)}
    silent = {each.name: each for each in answers if isinstance(each, Silent)}
    decided, findings = decide_for(answers, policy, users)
    findings += map(_no_answer, silent.values())
    for node in nodes.values():
        findings += find_gpus(node.name, node.gpu) if node.gpu else []
    by_node = _by_node(findings)
    reports = []
    for each in answers:
        report = NodeReport(each.name, findings=by_node.get(each.name, []))
        if isinstance(each, Silent) or decided is None:
            report = dataclasses.replace(report, why=silent[each.name].why)
        else:
            view, own = decided.views[each.name], decided.nodes[each.name]
            report = dataclasses.replace(
                report,
                fabric=decided.fabric.value,
                rdma=each.rdma,
                gpu=each.gpu,
                facts=each.facts,
                library=view.library,
                interface=view.interface,
                hcas=own.hcas,
                environment=own.variables,
                not_set=own.not_set,
            )
        reports.append(report)
    return ClusterReport(reports, decided.fabric if decided else None, users.fabric.mode, by_node.get(None, []))


def _by_node(findings: Iterable[Finding]) -> dict[str | None, list[Finding]]:
    """Part the findings by node, each once; None: of the cluster."""
    parted: dict[str | None, dict[Finding, None]] = {}
    for finding in findings:
        parted.setdefault(finding.node, {})[finding] = None
    return {node: list(own) for node, own in parted.items()}


def _no_answer(silent: Silent) -> Finding:
    return Finding(
        check="facts",
        node=silent.name,
        status="error",
        observed=silent.why,
        expected="its facts",
        source="module node_facts",
        remedy=f"see that Ansible reaches it: ansible {silent.name} -m ansible.builtin.ping",
    )
