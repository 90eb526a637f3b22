# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases in which something is found: a unit test compares their outcomes, their words are in tests/screens/messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.muster.train.plugins.module_utils._records.node import NodeFacts
from ansible_collections.muster.train.plugins.plugin_utils._findings.finding import Finding, lines
from ansible_collections.muster.train.tests.support.plan_parts import facts, wrong
from ansible_collections.muster.train.tests.support.screens import Message

Outcome = tuple[str, str | None, str]


@dataclasses.dataclass(frozen=True)
class Case:
    """A case by its name, what is found in it, and the check, node and status of each finding."""

    name: str
    find: Callable[[], list[Finding]]
    outcomes: Sequence[Outcome]

    def message(self) -> Message:
        return self.name, lines(self.find())

    def __str__(self) -> str:
        return self.name


def outcomes(findings: Iterable[Finding]) -> list[Outcome]:
    """Return what a finding says to a program: its check, its node and its status."""
    return [(finding.check, finding.node, finding.status) for finding in findings]


def cluster(*changes: Mapping[str, Any]) -> dict[str, NodeFacts]:
    """The facts of one node for each of the changes, with them."""
    return {f"node{number}": facts(number, **change) for number, change in enumerate(changes)}


def case_of(check: str, name: str, statuses: Mapping[str, str], *changes: Mapping[str, Any], **asked: Any) -> Case:
    """A case of nodes with these changes: a check finds something on some of them, each of which has a status."""
    expected = [(check, node, status) for node, status in statuses.items()]
    return Case(name, lambda: wrong(check, cluster(*changes), **asked), expected)
