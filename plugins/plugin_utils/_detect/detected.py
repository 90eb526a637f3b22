# SPDX-License-Identifier: GPL-3.0-or-later
"""What was detected: every node's facts, and the environment that follows from them.

A pure function of the nodes' answers and the cluster's policy: no clock, no file, no environment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import field, frozen
from ansible_collections.muster.train.plugins.module_utils._records.gpu import Gpu
from ansible_collections.muster.train.plugins.module_utils._records.job import Variable
from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.module_utils._records.rdma import Hca, Port, Rdma

from .._checks.gpu_findings import find_gpus
from .._cluster import head_address
from .._cluster.node import Node, NodeAnswer, Silent
from .._cluster.policy import ClusterPolicy
from .._cluster.silence import summarize, why_silent
from .._findings.finding import Finding
from .._nccl.environments import Users, decide_for
from .._nccl.library import Library
from .._nccl.ports import HcaPort
from .._nccl.view import Fabric, NotSet

SCHEMA = 1


@frozen
class DetectedNode:
    """A node's facts and the environment of its ranks; without an answer only `name`, `why` and `findings` are set.

    fabric is the cluster's, rdma or tcp.
    """

    name: str
    why: str = ""
    fabric: str | None = None
    rdma: Rdma | None = None
    gpu: Gpu | None = None
    facts: NodeFacts | None = None
    library: Library | None = None
    interface: head_address.HeadInterface | None = None
    hcas: list[str] = field(default_factory=list)
    gids: dict[str, int] = field(default_factory=dict)
    environment: list[Variable] = field(default_factory=list)
    not_set: list[NotSet] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def answered(self) -> bool:
        return self.facts is not None

    def gid_index(self, hca: Hca, port: Port) -> int | None:
        """Return the index of the RoCE v2 entry that the rules chose, or else the one that the node's facts name."""
        return self.gids.get(HcaPort(hca, port).label, port.rocev2_gid_index)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the facts have the names and shapes of `ansible_facts`."""
        data = dataclasses.asdict(self)
        data["findings"] = [finding.to_dict() for finding in self.findings]
        facts = {"rdma": data.pop("rdma"), "gpu": data.pop("gpu"), "node": data.pop("facts")}
        return {"name": self.name, "answered": self.answered, **data, "facts": facts}


@frozen
class ClusterReport:
    """All nodes in node-rank order; findings are those of the whole cluster."""

    nodes: list[DetectedNode]
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


def detect(answers: Sequence[NodeAnswer], policy: ClusterPolicy, users: Users) -> ClusterReport:
    """Report on all nodes, the head first. The decisions hold for the nodes that answered."""
    nodes = {answer.name: answer for answer in answers if isinstance(answer, Node)}
    silent = {answer.name: answer for answer in answers if isinstance(answer, Silent)}
    decided, findings = decide_for(answers, policy, users)
    findings += map(why_silent, silent.values())
    for node in nodes.values():
        findings += find_gpus(node.name, node.gpu) if node.gpu else []
    by_node = _by_node(findings)
    reports = []
    for answer in answers:
        report = DetectedNode(answer.name, findings=by_node.get(answer.name, []))
        if isinstance(answer, Silent) or decided is None:
            report = dataclasses.replace(report, why=summarize(silent[answer.name]))
        else:
            view, environment = decided.views[answer.name], decided.nodes[answer.name]
            report = dataclasses.replace(
                report,
                fabric=decided.fabric.value,
                rdma=answer.rdma,
                gpu=answer.gpu,
                facts=answer.facts,
                library=view.library,
                interface=view.interface,
                hcas=environment.hcas,
                gids=environment.gids,
                environment=environment.variables,
                not_set=environment.not_set,
            )
        reports.append(report)
    return ClusterReport(reports, decided.fabric if decided else None, users.fabric.mode, by_node.get(None, []))


def _by_node(findings: Iterable[Finding]) -> dict[str | None, list[Finding]]:
    """Group the findings by node, without duplicates; None is the cluster."""
    groups: dict[str | None, dict[Finding, None]] = {}
    for finding in findings:
        groups.setdefault(finding.node, {})[finding] = None
    return {node: list(group) for node, group in groups.items()}
