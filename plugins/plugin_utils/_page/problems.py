# SPDX-License-Identifier: GPL-3.0-or-later
"""The problems on a page: findings by check, the worst first, nodes with the same finding together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.muster.train.plugins.module_utils._records.frozen import frozen

from .._findings.finding import BAD, Finding, Status
from .._findings.remedy import Piece
from .._text.table import names, node_names


@frozen
class Nodes:
    """Names of nodes; all of them, if `text` has only the first."""

    text: str
    all: str = ""

    @classmethod
    def of(cls, nodes: Sequence[str]) -> Nodes:
        text, everything = node_names(nodes), names(nodes, len(nodes))
        return cls(text, "" if text == everything else everything)


@frozen
class Case:
    """Findings that differ only in the node and in what was observed there."""

    status: Status
    observations: list[tuple[Nodes, str]]
    expected: str
    source: str
    remedy: list[Piece]


@frozen
class Problem:
    """A check that did not pass; its status is the worst of its cases."""

    check: str
    description: str
    cases: list[Case]

    @property
    def status(self) -> Status:
        return self.cases[0].status


def problems(findings: Iterable[Finding], descriptions: Mapping[str, str] | None = None) -> list[Problem]:
    """Return the problems among the findings; descriptions are those of the checks, by name."""
    checks: dict[str, list[Finding]] = {}
    bad = [finding for finding in findings if finding.status in BAD]
    for finding in sorted(bad, key=lambda finding: BAD.index(finding.status)):
        checks.setdefault(finding.check, []).append(finding)
    return [Problem(check, (descriptions or {}).get(check, ""), _cases(group)) for check, group in checks.items()]


def _cases(findings: Iterable[Finding]) -> list[Case]:
    groups: dict[Finding, dict[str, dict[str, None]]] = {}
    for finding in findings:
        observations = groups.setdefault(dataclasses.replace(finding, node=None, observed=""), {})
        observations.setdefault(finding.observed, {}).update({finding.node: None} if finding.node else {})
    return [_case(finding, observations) for finding, observations in groups.items()]


def _case(finding: Finding, observations: Mapping[str, Mapping[str, None]]) -> Case:
    nodes = [node for group in observations.values() for node in group]
    return Case(
        finding.status,
        [(Nodes.of(list(group)), text) for text, group in observations.items()],
        finding.expected,
        finding.source,
        finding.remedy_pieces(list(dict.fromkeys(nodes))),
    )
