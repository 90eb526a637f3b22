# Copyright (c) 2026 The Muster project
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks inside a launch: those whose facts it gathers anyway.

The plan makes some of them itself, under names of its own, because its decisions rest on them; levels hold for these
too. What nobody could see stops no launch beyond what the plan needs: preflight tells it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from .._findings.finding import Finding
from .check import Level, lowered
from .model import Cluster
from .properties import GPU_COUNT
from .registry import CHECKS, OF_RULES, run

# The subsets of facts of roles/launch/tasks/plan.yml.
GATHERED = ("net", "rdma", "gpu", "code", "files", "slot", "versions", "container", "limits", "disk")
# What the plan calls its own findings, and the checks they are here.
OWN = {
    "node": "node",
    "work directory": "work directory",
    "code directory": "code directory",
    "slot": "slot",
    "python": "python interpreter",
    "torch": "torch installed",
    "starter": "starter",
    "gpus": "gpus",
    "script": "files",
    "config": "files",
    "master_port": "port",
    **{name: check for check, names in OF_RULES.items() for name in names},
}
OF_THE_PLAN = frozenset({"answer", "environment", *OWN.values()} - {"rdma ports"})


def fast(cluster: Cluster, levels: Mapping[str, Level]) -> list[Finding]:
    """Return what the other checks found wrong on the facts of a launch."""
    off: dict[str, Level] = dict.fromkeys(OF_THE_PLAN, "off")
    results = run(cluster, {**levels, **off}, GATHERED)
    found = [_warned(each.finding) for each in results]
    found = [each for each in found if each.status in ("warn", "fail")]
    # Of nodes with other numbers of GPUs the plan itself tells, where it counts ranks.
    return [each for each in found if not (each.check == GPU_COUNT.name and each.source.startswith("peers"))]


def _warned(found: Finding) -> Finding:
    """Make a warning of code that nobody could look at: ranks with other code than the rest fail late, or never."""
    blind = found.check == "code" and found.status == "error"
    return dataclasses.replace(found, status="warn") if blind else found


def levelled(findings: Iterable[Finding], levels: Mapping[str, Level]) -> list[Finding]:
    """Return the plan's own findings as the policy has them. An error stays: without these facts there is no plan."""
    usual = {check.name: check.level for check in CHECKS}
    kept = []
    for each in findings:
        check = OWN.get(each.check)
        level = levels.get(check, usual[check]) if check else "fail"
        if level != "off" or each.status == "error":
            kept.append(lowered(each, level))
    return kept
