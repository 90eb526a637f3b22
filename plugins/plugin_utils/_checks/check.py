# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check is, its levels, and what comes of its findings."""

from __future__ import annotations

import dataclasses

from .._findings.finding import Finding
from .model import Level, Look, LookAtNode, on_nodes

LEVELS: tuple[Level, ...] = ("fail", "warn", "off")


@dataclasses.dataclass(frozen=True)
class Check:
    """A check: needs are the subsets of facts that it looks at, blind the level of not having seen them by default.

    rules are the names under which decisions about the environment find what is the check's.
    """

    name: str
    description: str
    level: Level
    look: Look
    needs: tuple[str, ...] = ()
    blind: Level = "fail"
    rules: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Result:
    """A finding, and the level of its check: what is only worth a warning never stops anything."""

    finding: Finding
    level: Level


def each_node(
    name: str,
    description: str,
    level: Level,
    look: LookAtNode,
    needs: tuple[str, ...] = (),
    blind: Level = "fail",
) -> Check:
    """Make a check that looks at one node after another."""
    return Check(name, description, level, on_nodes(look), needs, blind)


def lowered(found: Finding, level: Level) -> Finding:
    """Make of a failure a warning, where that is what the policy says. An error stays one: nobody looked."""
    return dataclasses.replace(found, status="warn") if level == "warn" and found.status == "fail" else found


def code_of(results: list[Result]) -> int:
    """Return 0: all is well, 1: a check failed, 2: what had to be checked could not be. A failure is told first."""
    if any(each.finding.status == "fail" for each in results):
        return 1
    return 2 if any(each.finding.status == "error" and each.level == "fail" for each in results) else 0
