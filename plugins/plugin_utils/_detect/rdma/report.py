# SPDX-License-Identifier: GPL-3.0-or-later
"""The report on RDMA: every node's sections, which nodes are alike, and what the checks say about each section.

A pure function of what was detected, the cluster's policy and the results of the checks, which are preflight's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from ..._checks.report import WORST
from ..._cluster.policy import ClusterPolicy
from ..._findings.finding import BAD, Finding, Status
from ..detected import ClusterReport, DetectedNode
from ..groups import Alike, group_alike
from . import hardware, network, software, system
from .section import Section

Builder = Callable[[DetectedNode, ClusterPolicy], Section]
# The sections in their order, each with the checks that judge what it shows.
SECTIONS: tuple[tuple[Builder, tuple[str, ...]], ...] = (
    (hardware.devices, ("firmware",)),
    (hardware.pci, ("pcie",)),
    (hardware.ports, ("rdma ports",)),
    (hardware.gids, ("gids",)),
    (network.interfaces, ("mtu", "rdma mtu", "socket interface")),
    (network.addresses, ("rails", "interface")),
    (system.modules, ("kernel",)),
    (system.device_files, ("device files",)),
    (system.memlock, ("memlock",)),
    (system.isolation, ("iommu", "kernel command line")),
    (hardware.counters, ("counters",)),
    (hardware.gpudirect, ("gdr",)),
    (software.container, ("engine", "engine version", "privileged")),
    (software.environment, ("environment",)),
    (software.not_set, ()),
    (software.tools, ()),
)
CHECKS_OF = {build.__name__: names for build, names in SECTIONS}
CHECKS = tuple(name for names in CHECKS_OF.values() for name in names)


@frozen
class RdmaReport:
    """The sections of every node that answered, by its name; findings are those of CHECKS.

    statuses has the worst status of each check by node.
    """

    detected: ClusterReport
    sections: dict[str, list[Section]]
    alike: list[Alike]
    findings: list[Finding]
    statuses: dict[str, dict[str, Status]]

    def bad_checks(self) -> dict[Status, set[str]]:
        """Return the checks that did not pass on some node, by their status there, the worst first."""
        checks = {status: {item.check for item in self.findings if item.status == status} for status in BAD}
        return {status: names for status, names in checks.items() if names}

    def worst(self, section: Section, nodes: Sequence[str]) -> dict[str, tuple[Status, list[str]]]:
        """Return by each check of a section its worst status on these nodes, and the nodes that have it."""
        result = {}
        for check in CHECKS_OF[section.key]:
            known = self.statuses.get(check, {})
            statuses = {node: known[node] for node in nodes if node in known}
            if statuses:
                status = min(statuses.values(), key=WORST.index)
                result[check] = status, [node for node in statuses if statuses[node] == status]
        return result

    def shown(self, node: str, alike: Sequence[str]) -> list[Section]:
        """Return the sections of a node, with the counters of all of these nodes."""
        detected = [item for item in self.detected.nodes if item.name in set(alike)]
        return [
            hardware.counters_of(detected) if section.key == hardware.counters.__name__ else section
            for section in self.sections[node]
        ]

    def absent(self, node: str) -> dict[str, str]:
        """Return the titles of the sections about which there is nothing to say, by the reason."""
        reasons = dict.fromkeys(section.absent for section in self.sections[node] if section.absent)
        titles = {why: [part.title for part in self.sections[node] if part.absent == why] for why in reasons}
        return {why: ", ".join(parts) for why, parts in titles.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: as of `detect`, and each node's sections."""
        data = self.detected.to_dict()
        findings: dict[str | None, list[dict[str, str | None]]] = {}
        for finding in self.findings:
            findings.setdefault(finding.node, []).append(finding.to_dict())
        for name, node in data["nodes"].items():
            node["findings"] = findings.get(name, [])
            node["sections"] = [self._section(section, name) for section in self.sections.get(name, ())]
        return {**data, "findings": findings.get(None, [])}

    def _section(self, section: Section, node: str) -> dict[str, Any]:
        return {
            "key": section.key,
            "title": section.title,
            "headers": list(section.headers),
            "rows": [list(row) for row in section.rows],
            "notes": list(section.notes),
            "absent": section.absent,
            "checks": {check: status for check, (status, _nodes) in self.worst(section, [node]).items()},
        }


def report_on(detected: ClusterReport, policy: ClusterPolicy, findings: Sequence[Finding]) -> RdmaReport:
    """Report on all nodes; of the findings, only those of CHECKS count."""
    nodes = [node for node in detected.nodes if node.answered]
    sections = {node.name: [build(node, policy) for build, _checks in SECTIONS] for node in nodes}
    features = {
        name: {feature: value for section in parts for feature, value in section.features.items()}
        for name, parts in sections.items()
    }
    relevant = [finding for finding in findings if finding.check in CHECKS]
    statuses: dict[str, dict[str, Status]] = {}
    for finding in relevant:
        if finding.node is not None:
            of_check = statuses.setdefault(finding.check, {})
            of_check[finding.node] = min(of_check.get(finding.node, "skip"), finding.status, key=WORST.index)
    return RdmaReport(detected, sections, group_alike(features), relevant, statuses)
